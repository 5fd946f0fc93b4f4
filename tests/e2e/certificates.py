# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, by the program openssl."""
import os
import ssl
import subprocess

NODE = "otherName:1.3.6.1.5.5.7.8.11;IA5:"  # id-on-bundleEID (RFC 9174 §4.4.2)
BUNDLES = "1.3.6.1.5.5.7.3.35"  # id-kp-bundleSecurity


class Authority:
    """A CA in a folder of its own."""

    KEYS = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.file = self.make("ca", ["-addext", "basicConstraints=critical,CA:TRUE"])[0]

    def make(self, name, more):
        certificate, key = (os.path.join(self.folder, f"{name}.{end}") for end in ("pem", "key"))
        subprocess.run(["openssl", "req", "-x509", *self.KEYS, "-nodes", "-days", "30",
                        "-subj", f"/CN={name}", "-keyout", key, "-out", certificate, *more], check=True, capture_output=True)
        return certificate, key

    def many(self, name, count):
        """A file of so many other CAs behind this one: one certificate with other names, whose signatures nobody looks at."""
        with open(self.make(f"{name}00000", [])[0]) as f:
            one = ssl.PEM_cert_to_DER_cert(f.read())
        with open(self.file) as f:
            texts = [f.read()]
        texts += [ssl.DER_cert_to_PEM_cert(one.replace(f"{name}00000".encode(), f"{name}{i:05}".encode())) for i in range(count)]
        path = os.path.join(self.folder, f"{name}.pem")
        with open(path, "w") as f:
            f.writelines(texts)
        return path

    def issue(self, name, names, purpose=BUNDLES):
        """(certificate, key) with these subjectAltNames."""
        more = ["-CA", self.file, "-CAkey", self.file.replace(".pem", ".key"), "-addext", "basicConstraints=critical,CA:FALSE",
                "-addext", "keyUsage=digitalSignature"]
        if names:
            more += ["-addext", f"subjectAltName={names}"]
        if purpose:
            more += ["-addext", f"extendedKeyUsage={purpose}"]
        return self.make(name, more)
