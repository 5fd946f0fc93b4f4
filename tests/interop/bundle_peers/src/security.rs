// SPDX-License-Identifier: Apache-2.0
//! Bundle security by hardy-bpv7. Lines as bpsec_random.c has them: KEYS PLAIN WIRE[,WIRE…].

use super::Done;
use hardy_bpv7::bpsec::key::{EncAlgorithm, Key, KeyAlgorithm, KeySource, Operation, Type as KeyType};
use hardy_bpv7::bpsec::{encryptor, rfc9173::ScopeFlags, signer};
use hardy_bpv7::builder::Builder;
use hardy_bpv7::bundle::{Bundle, FragmentInfo, ParsedBundle};
use hardy_bpv7::creation_timestamp::CreationTimestamp;
use hardy_bpv7::dtn_time::DtnTime;
use hardy_bpv7::editor::{Chunk, Editor};
use hardy_bpv7::{block, crc, eid::Eid};
use hardy_cbor::encode::{Bytes, emit_array};
use std::io::{BufRead, Write};

const BIB: u64 = 11;
const BCB: u64 = 12;

/// SplitMix64, for repeatable bundles.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
    fn bytes(&mut self, n: u64) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
    fn data(&mut self) -> Vec<u8> {
        let n = if self.below(2) == 0 { self.pick(&[0, 1, 15, 16, 17, 23, 24, 255, 256]) } else { self.below(2048) };
        self.bytes(n)
    }
    fn eid(&mut self) -> Eid {
        let (node, service) = (self.pick(&[1u64, 23, 24, 300, 4294967294]), 1 + self.below(100000));
        let text = match self.below(3) {
            0 => format!("dtn://node{node}/in/{service}"),
            1 => format!("ipn:{node}.{service}"),
            _ => format!("ipn:977000.{node}.{service}"),
        };
        text.parse().expect("an endpoint id")
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Done<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    Ok(digits.ok_or("a digit")?.chunks(2).map(|p| (p[0] * 16 + p[1]) as u8).collect())
}

/// One key of a line.
struct Given {
    kind: u64,
    source: Eid,
    variant: u64,
    wrap: bool,
    key: Key,
}

impl Given {
    fn new(kind: u64, source: Eid, variant: u64, wrap: bool, secret: Vec<u8>) -> Self {
        use KeyAlgorithm::*;
        let size = if wrap { secret.len() } else { 0 };
        let key_algorithm = Some(match (kind, variant, size) {
            (BIB, 5, 0) => HS256,
            (BIB, 5, 16) => HS256_A128KW,
            (BIB, 5, 24) => HS256_A192KW,
            (BIB, 5, _) => HS256_A256KW,
            (BIB, 6, 0) => HS384,
            (BIB, 6, 16) => HS384_A128KW,
            (BIB, 6, 24) => HS384_A192KW,
            (BIB, 6, _) => HS384_A256KW,
            (BIB, _, 0) => HS512,
            (BIB, _, 16) => HS512_A128KW,
            (BIB, _, 24) => HS512_A192KW,
            (BIB, _, _) => HS512_A256KW,
            (_, _, 0) => Direct,
            (_, _, 16) => A128KW,
            (_, _, 24) => A192KW,
            (_, _, _) => A256KW,
        });
        let enc_algorithm = (kind == BCB).then_some(if variant == 1 { EncAlgorithm::A128GCM } else { EncAlgorithm::A256GCM });
        let key_type = KeyType::OctetSequence { key: secret.into() };
        Given { kind, source, variant, wrap, key: Key { key_type, key_algorithm, enc_algorithm, ..Default::default() } }
    }

    fn read(text: &str) -> Done<Self> {
        let w: Vec<&str> = text.split('/').collect();
        let [kind, source, variant, wrap, secret] = w[..] else { return Err("a key has five parts".into()) };
        Ok(Given::new(kind.parse()?, source.replace('~', "/").parse()?, variant.parse()?, wrap == "1", unhex(secret)?))
    }

    fn text(&self) -> String {
        let KeyType::OctetSequence { key } = &self.key.key_type else { return String::new() };
        let source = self.source.to_string().replace('/', "~");
        format!("{}/{}/{}/{}/{}", self.kind, source, self.variant, u8::from(self.wrap), hex(key))
    }
}

struct Keys(Vec<Given>);

impl KeySource for Keys {
    fn key<'a>(&'a self, source: &Eid, operations: &[Operation]) -> Option<&'a Key> {
        let kind = if operations.contains(&Operation::Verify) { BIB } else { BCB };
        let wrap = operations.contains(&Operation::UnwrapKey);
        self.0.iter().find(|g| g.kind == kind && g.wrap == wrap && g.source == *source).map(|g| &g.key)
    }
}

// ---- fragments: the library has none ----

fn with_crc(kind: crc::CrcType, mut data: Vec<u8>) -> Done<Vec<u8>> {
    if !matches!(kind, crc::CrcType::None) {
        let mut digest = crc::Digest::new(kind)?;
        data.push(digest.cbor_head());
        digest.push(&data);
        digest.push_zeros();
        data.extend(digest.finalize());
    }
    Ok(data)
}

fn primary(b: &Bundle, fragment: Option<&FragmentInfo>) -> Done<Vec<u8>> {
    let bare = matches!(b.crc_type, crc::CrcType::None) && fragment.is_some_and(|f| f.offset > 0);
    let crc_type = if bare { crc::CrcType::CRC32_CASTAGNOLI } else { b.crc_type }; // its BIB is in the first fragment
    let checked = usize::from(!matches!(crc_type, crc::CrcType::None));
    let flags = (u64::from(&b.flags) & !1) | u64::from(fragment.is_some());
    with_crc(
        crc_type,
        emit_array(Some(8 + checked + 2 * usize::from(fragment.is_some())), |a| {
            a.emit(&7);
            a.emit(&flags);
            a.emit(&crc_type);
            a.emit(&b.destination);
            a.emit(&b.id.source);
            a.emit(&b.report_to);
            a.emit(&b.id.timestamp);
            a.emit(&(b.lifetime.as_millis() as u64));
            if let Some(f) = fragment {
                a.emit(&f.offset);
                a.emit(&f.total_adu_length);
            }
            if checked > 0 {
                a.skip_value();
            }
        }),
    )
}

fn payload_block(k: &block::Block, data: &[u8]) -> Done<Vec<u8>> {
    let checked = usize::from(!matches!(k.crc_type, crc::CrcType::None));
    with_crc(
        k.crc_type,
        emit_array(Some(5 + checked), |a| {
            a.emit(&1);
            a.emit(&1);
            a.emit(&k.flags);
            a.emit(&k.crc_type);
            a.emit(&Bytes(&data));
            if checked > 0 {
                a.skip_value();
            }
        }),
    )
}

/// The bundle with this payload, and with its blocks, or only with those that are in each fragment.
fn rebuild(b: &Bundle, wire: &[u8], payload: &[u8], fragment: Option<&FragmentInfo>) -> Done<Vec<u8>> {
    let whole = fragment.is_none_or(|f| f.offset == 0);
    let mut numbers: Vec<u64> = b.blocks.keys().copied().filter(|n| *n > 1).collect();
    numbers.retain(|n| whole || b.blocks[n].flags.must_replicate);
    numbers.sort_by_key(|n| b.blocks[n].extent.start);
    let mut out = vec![0x9f];
    out.extend(primary(b, fragment)?);
    for n in numbers {
        out.extend(&wire[b.blocks[&n].extent.clone()]);
    }
    out.extend(payload_block(&b.blocks[&1], payload)?);
    out.push(0xff);
    Ok(out)
}

fn join(pieces: Vec<Vec<u8>>) -> Done<Vec<u8>> {
    if pieces.len() == 1 {
        return Ok(pieces.into_iter().next().unwrap_or_default());
    }
    let (mut first, mut payload, mut have) = (None, Vec::new(), 0);
    for wire in pieces {
        let b = ParsedBundle::parse_with_keys(&wire, &Keys(vec![]))?.bundle; // with keys it would verify each fragment
        let f = b.id.fragment_info.as_ref().ok_or("not a fragment")?;
        let (offset, total, data) = (f.offset as usize, f.total_adu_length as usize, b.blocks[&1].payload(&wire).ok_or("payload")?);
        payload.resize(total, 0);
        payload.get_mut(offset..offset + data.len()).ok_or("beyond the total")?.copy_from_slice(data);
        have += data.len();
        if offset == 0 {
            first = Some((b, wire));
        }
    }
    let (b, wire) = first.ok_or("no first fragment")?;
    if have != payload.len() {
        return Err("fragments are missing".into());
    }
    rebuild(&b, &wire, &payload, None)
}

// ---- verifying ----

fn signed(b: &Bundle) -> Vec<u64> {
    b.blocks.iter().filter(|(_, k)| matches!(k.bib, block::BibCoverage::Some(_))).map(|(n, _)| *n).collect()
}

fn encrypted(b: &Bundle) -> Vec<u64> {
    b.blocks.iter().filter(|(_, k)| k.bcb.is_some()).map(|(n, _)| *n).collect()
}

fn is_security(k: &block::Block) -> bool {
    matches!(k.block_type, block::Type::BlockIntegrity | block::Type::BlockSecurity)
}

/// All operations succeed, and the contents are those of the plain bundle. How many operations.
fn check(plain: &[u8], wire: &[u8], keys: &Keys) -> Done<usize> {
    let want = ParsedBundle::parse_with_keys(plain, keys)?.bundle;
    let b = ParsedBundle::parse_with_keys(wire, keys)?.bundle;
    let mut operations = 0;
    for n in signed(&b) {
        b.verify_block(n, wire, keys).map_err(|e| format!("BIB of block {n}: {e}"))?;
        operations += 1;
    }
    for (n, k) in &b.blocks {
        if *n == 0 || is_security(k) {
            continue;
        }
        let data = b.block_data(*n, wire, keys).map_err(|e| format!("BCB of block {n}: {e}"))?;
        operations += usize::from(k.bcb.is_some());
        let other = want.blocks.get(n).ok_or("a block of another number")?;
        if data.as_ref() != other.payload(plain).ok_or("no data")? || k.flags != other.flags || k.block_type != other.block_type {
            return Err(format!("block {n} is another one").into());
        }
    }
    let blocks = b.blocks.values().filter(|k| !is_security(k)).count();
    let same = b.id == want.id && b.destination == want.destination && b.report_to == want.report_to && b.lifetime == want.lifetime;
    if blocks != want.blocks.len() || !same || operations == 0 {
        return Err("another primary block, or another number of blocks".into());
    }
    Ok(operations)
}

/// The same after all operations were removed.
fn strip(plain: &[u8], wire: &[u8], keys: &Keys) -> Done<()> {
    let mut wire = wire.to_vec();
    for decrypts in [true, false] {
        loop {
            let b = ParsedBundle::parse_with_keys(&wire, keys)?.bundle;
            // BIBs after their targets (RFC 9172 §3.9); the primary block, which gets a CRC again that others cover, last
            let targets = if decrypts { encrypted(&b) } else { signed(&b) };
            let Some(n) = targets.into_iter().max_by_key(|n| (!is_security(&b.blocks[n]), *n)) else { break };
            let editor = Editor::new(&b, &wire);
            let done = if decrypts { editor.remove_encryption(n, keys) } else { editor.remove_integrity(n) };
            let chunks = done.map_err(|(_, e)| format!("removing of block {n}: {e}"))?.rebuild()?;
            wire = Chunk::flatten(chunks, &wire).into_vec();
        }
    }
    let (want, got) = (ParsedBundle::parse_with_keys(plain, keys)?.bundle, ParsedBundle::parse_with_keys(&wire, keys)?.bundle);
    for (n, k) in &want.blocks {
        let other = got.blocks.get(n).ok_or(format!("block {n} was lost"))?;
        if *n > 0 && k.payload(plain) != other.payload(&wire) {
            return Err(format!("block {n} differs when all is removed").into());
        }
    }
    if got.blocks.len() == want.blocks.len() { Ok(()) } else { Err("a security block stays".into()) }
}

/// A changed bit of one target must be noticed. None: it has no bytes.
fn alter(wire: &[u8], keys: &Keys, rng: &mut Rng) -> Done<Option<()>> {
    let b = ParsedBundle::parse_with_keys(wire, keys)?.bundle;
    let mut targets: Vec<u64> = signed(&b).into_iter().chain(encrypted(&b)).filter(|n| *n > 0).collect();
    targets.sort_unstable();
    if targets.is_empty() {
        return Ok(None);
    }
    let n = rng.pick(&targets);
    let (range, mut changed) = (b.blocks[&n].payload_range(), wire.to_vec());
    if range.is_empty() {
        return Ok(None);
    }
    changed[range.start + rng.below(range.len() as u64) as usize] ^= 1 << rng.below(8);
    let Ok(parsed) = ParsedBundle::parse_with_keys(&changed, keys) else { return Ok(Some(())) };
    let b = parsed.bundle;
    let bad = signed(&b).into_iter().any(|n| b.verify_block(n, &changed, keys).is_err())
        || encrypted(&b).into_iter().any(|n| b.block_data(n, &changed, keys).is_err());
    if bad { Ok(Some(())) } else { Err(format!("a changed bit of block {n} is not noticed").into()) }
}

pub fn open(input: &[u8]) -> Done<Vec<u8>> {
    let (mut out, mut rng) = (Vec::new(), Rng(1));
    let (mut n, mut agree, mut pieces, mut refused, mut stripped, mut operations) = (0, 0, 0, 0, 0, 0);
    for line in input.lines() {
        let line = line?;
        let w: Vec<&str> = line.split(' ').collect();
        let [keys, plain, wires] = w[..] else { return Err("a line has three words".into()) };
        let keys = Keys(keys.split(',').map(Given::read).collect::<Done<_>>()?);
        let (plain, wires) = (unhex(plain)?, wires.split(',').map(unhex).collect::<Done<Vec<_>>>()?);
        pieces += usize::from(wires.len() > 1);
        let one = || -> Done<()> {
            let whole = join(wires)?;
            operations += check(&plain, &whole, &keys)?;
            refused += usize::from(alter(&whole, &keys, &mut rng)?.is_some());
            strip(&plain, &whole, &keys)?;
            stripped += 1;
            Ok(())
        };
        match one() {
            Ok(()) => agree += 1,
            Err(e) => writeln!(out, "differs {n}: {e}")?,
        }
        n += 1;
    }
    writeln!(out, "bundles {n}, agree {agree}, in fragments {pieces}, altered and refused {refused}")?;
    writeln!(out, "operations {operations}, stripped {stripped}")?;
    Ok(out)
}

// ---- making ----

fn make_plain(rng: &mut Rng) -> Done<Vec<u8>> {
    let crcs = [crc::CrcType::None, crc::CrcType::CRC16_X25, crc::CrcType::CRC32_CASTAGNOLI];
    let crc = rng.pick(&crcs[1..]);
    let mut b = Builder::new(rng.eid(), rng.eid()).with_report_to(rng.eid()).with_crc_type(crc);
    if rng.below(2) == 0 {
        b = b.with_hop_count(&hardy_bpv7::hop_info::HopInfo { limit: 30, count: 0 });
    }
    for _ in 0..rng.below(5) {
        let flags = block::Flags::from(rng.pick(&[0u64, 0, 1, 2, 16, 19]));
        let kind = block::Type::Unrecognised(193 + rng.below(50));
        b = b.add_extension_block(kind)?.with_crc_type(rng.pick(&crcs)).with_flags(flags).build(rng.data().into());
    }
    let b = b.add_extension_block(block::Type::Payload)?.with_crc_type(rng.pick(&crcs)).build(rng.data().into());
    let time = DtnTime::new(800000000000 + rng.below(1000000));
    Ok(b.build(CreationTimestamp::from_parts(Some(time), rng.below(1000)))?.1.into_vec())
}

fn scope(rng: &mut Rng) -> ScopeFlags {
    let bits = rng.below(8);
    ScopeFlags {
        include_primary_block: bits & 1 > 0,
        include_target_header: bits & 2 > 0,
        include_security_header: bits & 4 > 0,
        unrecognised: None,
    }
}

fn make_key(rng: &mut Rng, kind: u64) -> Given {
    let (source, wrap, variant) = (rng.eid(), rng.below(3) == 0, if kind == BIB { 5 + rng.below(3) } else { 1 + 2 * rng.below(2) });
    let len = match (wrap, kind, variant) {
        (true, _, _) => 16 + 8 * rng.below(3),
        (_, BIB, _) => 16 + rng.below(49),
        (_, _, 1) => 16,
        _ => 32,
    };
    Given::new(kind, source, variant, wrap, rng.bytes(len))
}

/// With a wrapped key a BIB for each target: the library makes a key for each, and sends one (RFC 9173 §3.3.2: one key of a block).
fn sign(mut wire: Vec<u8>, targets: &[u64], given: &Given, rng: &mut Rng) -> Done<Vec<u8>> {
    let mut order = targets.to_vec();
    order.sort_unstable(); // the primary block, whose CRC goes, first
    for some in order.chunks(if given.wrap { 1 } else { order.len() }) {
        wire = sign_some(wire, some, given, rng)?;
    }
    Ok(wire)
}

fn sign_some(wire: Vec<u8>, targets: &[u64], given: &Given, rng: &mut Rng) -> Done<Vec<u8>> {
    let b = ParsedBundle::parse_with_keys(&wire, &Keys(vec![]))?.bundle;
    let (mut s, context) = (signer::Signer::new(&b, &wire), signer::Context::HMAC_SHA2(scope(rng)));
    for n in targets {
        s = s.sign_block(*n, context.clone(), given.source.clone(), &given.key).map_err(|(_, e)| e)?;
    }
    Ok(s.rebuild()?.into_vec())
}

fn encrypt(wire: Vec<u8>, targets: &[u64], given: &Given, keys: &Keys, rng: &mut Rng) -> Done<Vec<u8>> {
    let b = ParsedBundle::parse_with_keys(&wire, keys)?.bundle;
    let (mut s, context) = (encryptor::Encryptor::new(&b, &wire), encryptor::Context::AES_GCM(scope(rng)));
    for n in targets {
        s = s.encrypt_block(*n, context.clone(), given.source.clone(), &given.key).map_err(|(_, e)| e)?;
    }
    Ok(s.rebuild()?.into_vec())
}

fn cut(wire: &[u8], rng: &mut Rng) -> Done<Vec<Vec<u8>>> {
    let b = ParsedBundle::parse_with_keys(wire, &Keys(vec![]))?.bundle;
    let payload = b.blocks[&1].payload(wire).ok_or("payload")?;
    let (mut out, mut at) = (Vec::new(), 0);
    if payload.len() < 2 || rng.below(3) > 0 {
        return Ok(vec![wire.to_vec()]);
    }
    while at < payload.len() {
        let rest = payload.len() - at;
        let n = if out.len() == 7 { rest } else { 1 + rng.below((rest - usize::from(at == 0)) as u64) as usize };
        let f = FragmentInfo { offset: at as u64, total_adu_length: payload.len() as u64 };
        out.push(rebuild(&b, wire, &payload[at..at + n], Some(&f))?);
        at += n;
    }
    let turn = rng.below(out.len() as u64) as usize;
    out.rotate_left(turn);
    Ok(out)
}

fn secure_one(rng: &mut Rng) -> Done<String> {
    let plain = make_plain(rng)?;
    let b = ParsedBundle::parse_with_keys(&plain, &Keys(vec![]))?.bundle;
    let mut groups = [vec![], vec![], vec![], vec![]]; // nothing, signed, encrypted, both
    for (n, k) in &b.blocks {
        match (n, k.block_type) {
            (0, _) => groups[usize::from(rng.below(3) == 0)].push(*n),
            (_, block::Type::HopCount) => (),
            _ => groups[rng.below(4) as usize].push(*n),
        }
    }
    if groups[1].is_empty() && groups[2].is_empty() && groups[3].is_empty() {
        groups[0].retain(|n| *n == 0);
        groups[3].push(1);
    }
    let [_, only, hidden, both] = groups;
    let (mut keys, mut wire) = (Keys(vec![]), plain.clone());
    for (kind, targets) in [(BIB, &only), (BIB, &both), (BCB, &hidden), (BCB, &both)] {
        if targets.is_empty() {
            continue;
        }
        let given = make_key(rng, kind);
        wire = if kind == BIB { sign(wire, targets, &given, rng)? } else { encrypt(wire, targets, &given, &keys, rng)? };
        keys.0.push(given);
    }
    let texts: Vec<String> = keys.0.iter().map(Given::text).collect();
    let wires: Vec<String> = cut(&wire, rng)?.iter().map(|w| hex(w)).collect();
    Ok(format!("{} {} {}", texts.join(","), hex(&plain), wires.join(",")))
}

pub fn make(seed: u64, count: u64) -> Done<Vec<u8>> {
    let (mut out, mut rng) = (Vec::new(), Rng(seed));
    for _ in 0..count {
        writeln!(out, "{}", secure_one(&mut rng)?)?;
    }
    Ok(out)
}
