#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the Yamcs of docs/yamcs.md by its HTTP API.

usage: ask.py wait               until its links are there and COP-1 is active
       ask.py links              frames and packets of each link
       ask.py parameters         the latest values
       ask.py heater SETPOINT    issues the command set_heater, and waits until it is complete
       ask.py history            commands with their acknowledgements"""

import json
import sys
import time
import urllib.error
import urllib.request

API = "http://127.0.0.1:8090/api/"


def ask(path, body=None):
    request = urllib.request.Request(API + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wait():
    while True:
        try:
            if ask("cop1/helio/tc.vc0/status").get("state") == "ACTIVE":
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)


def links():
    for link in ask("links/helio")["links"]:
        extra = ", ".join(f"{k.lower()} {v}" for k, v in link.get("extra", {}).items())
        print(f"{link['name']}: {link['status']}, in {link['dataInCount']}, out {link['dataOutCount']}{extra and ', ' + extra}")


def parameters():
    for name in ("number", "temperature", "commands", "setpoint"):
        value = ask(f"processors/helio/realtime/parameters/HELIO/{name}")
        print(name, *(v for k, v in value["engValue"].items() if k != "type"), "of", value["generationTime"])


def history(only=None):
    """Prints commands, or of one: is it complete?"""
    for command in reversed(ask("archive/helio/commands").get("commands", [])):
        states = {a["name"][:-7]: a["value"].get("stringValue") for a in command["attr"] if a["name"].endswith("_Status")}
        if only is None:
            names = ("Acknowledge_Queued", "Acknowledge_Released", "Acknowledge_Sent", "Verifier_Complete", "CommandComplete")
            print(command["commandName"], command["assignments"][0]["value"]["uint32Value"], ", ".join(f"{n} {states.get(n)}" for n in names))
        elif command["id"] == only:
            return states.get("CommandComplete")
    return None


def heater(setpoint):
    sent = ask("processors/helio/realtime/commands/HELIO/set_heater", {"args": {"setpoint": int(setpoint)}})
    while history(sent["id"]) is None:
        time.sleep(0.2)
    print("set_heater", setpoint, history(sent["id"]))


if __name__ == "__main__":
    words = {"wait": wait, "links": links, "parameters": parameters, "heater": heater, "history": history}
    if len(sys.argv) < 2 or sys.argv[1] not in words or len(sys.argv) != (3 if sys.argv[1] == "heater" else 2):
        sys.exit(__doc__)
    words[sys.argv[1]](*sys.argv[2:])
