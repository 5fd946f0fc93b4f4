// SPDX-License-Identifier: Apache-2.0
//! Bundles by two BPv7 libraries that are not ours, for tests: bp7, hardy-bpv7.
//!
//!   bundle-peers bp7|hardy show PAYLOAD-FILE       a bundle from the standard input: its fields as JSON, its payload to the file
//!   bundle-peers bp7|hardy make KEY=VALUE…         a bundle with the payload from the standard input
//!   bundle-peers bp7 random                        one of the library's own
//!   bundle-peers hardy secure SEED COUNT           bundles with random security operations (security.rs)
//!   bundle-peers hardy open                        such bundles from the standard input, verified and decrypted

use std::collections::HashMap;
use std::error::Error;
use std::io::{Read, Write};

mod security;

type Done<T> = Result<T, Box<dyn Error>>;

/// What both libraries say of a bundle.
#[derive(Default)]
struct Shown {
    source: String,
    destination: String,
    report_to: String,
    created: u64,
    sequence: u64,
    lifetime: u64,
    flags: u64,
    crc: u64,
    fragment: Option<(u64, u64)>,
    hops: Option<(u64, u64)>,
    age: Option<u64>,
    previous: Option<String>,
    blocks: Vec<(u64, u64, u64, u64)>, // type, number, flags, CRC type
}

fn optional<T>(value: &Option<T>, text: impl Fn(&T) -> String) -> String {
    value.as_ref().map_or("null".into(), text)
}

impl Shown {
    fn json(&self) -> String {
        let blocks: Vec<String> = self.blocks.iter().map(|b| format!("[{},{},{},{}]", b.0, b.1, b.2, b.3)).collect();
        format!(
            concat!(
                "{{\"source\":\"{}\",\"destination\":\"{}\",\"report_to\":\"{}\",\"created\":{},\"sequence\":{},\"lifetime\":{},",
                "\"flags\":{},\"crc\":{},\"fragment\":{},\"hops\":{},\"age\":{},\"previous\":{},\"blocks\":[{}]}}"
            ),
            self.source, self.destination, self.report_to, self.created, self.sequence, self.lifetime, self.flags, self.crc,
            optional(&self.fragment, |f| format!("[{},{}]", f.0, f.1)),
            optional(&self.hops, |h| format!("[{},{}]", h.0, h.1)),
            optional(&self.age, |a| a.to_string()),
            optional(&self.previous, |p| format!("\"{p}\"")),
            blocks.join(",")
        )
    }
}

/// What is asked for, with defaults.
struct Wanted(HashMap<String, String>);

impl Wanted {
    fn new(words: &[String]) -> Done<Self> {
        let pairs: Option<HashMap<_, _>> = words.iter().map(|w| w.split_once('=').map(|(k, v)| (k.into(), v.into()))).collect();
        Ok(Wanted(pairs.ok_or("KEY=VALUE")?))
    }
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
    fn number(&self, key: &str) -> Done<Option<u64>> {
        Ok(self.text(key).map(str::parse).transpose()?)
    }
    fn pair(&self, key: &str) -> Done<Option<(u64, u64)>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let (a, b) = text.split_once(':').ok_or("A:B")?;
        Ok(Some((a.parse()?, b.parse()?)))
    }
}

mod with_bp7 {
    use super::*;
    use bp7::canonical::*;
    use bp7::primary::PrimaryBlockBuilder;
    use bp7::{Bundle, CreationTimestamp, EndpointID};
    use core::time::Duration;

    pub fn show(wire: Vec<u8>) -> Done<(Shown, Vec<u8>)> {
        let mut b = Bundle::try_from(wire)?;
        b.validate().map_err(|e| format!("{e:?}"))?;
        if !b.crc_valid() {
            return Err("a check value is wrong".into());
        }
        let p = &b.primary;
        let mut s = Shown {
            source: p.source.to_string(),
            destination: p.destination.to_string(),
            report_to: p.report_to.to_string(),
            created: p.creation_timestamp.dtntime(),
            sequence: p.creation_timestamp.seqno(),
            lifetime: p.lifetime.as_millis() as u64,
            flags: p.bundle_control_flags,
            crc: p.crc.to_code() as u64,
            fragment: p.has_fragmentation().then_some((p.fragmentation_offset, p.total_data_length)),
            ..Default::default()
        };
        for c in &b.canonicals {
            s.blocks.push((c.block_type, c.block_number, c.block_control_flags as u64, c.crc.to_code() as u64));
            match c.data() {
                CanonicalData::HopCount(limit, count) => s.hops = Some((*limit as u64, *count as u64)),
                CanonicalData::BundleAge(age) => s.age = Some(*age),
                CanonicalData::PreviousNode(eid) => s.previous = Some(eid.to_string()),
                _ => (),
            }
        }
        Ok((s, b.payload().ok_or("no payload")?.clone()))
    }

    fn block(kind: u64, number: u64, data: CanonicalData) -> Done<CanonicalBlock> {
        Ok(CanonicalBlockBuilder::default().block_type(kind).block_number(number).data(data).build().map_err(|e| e.to_string())?)
    }

    pub fn make(w: &Wanted, payload: Vec<u8>) -> Done<Vec<u8>> {
        let eid = |key: &str| -> Done<EndpointID> { Ok(EndpointID::try_from(w.text(key).unwrap_or("dtn:none"))?) };
        let mut primary = PrimaryBlockBuilder::default()
            .source(eid("source")?)
            .destination(eid("destination")?)
            .report_to(eid("report_to")?)
            .bundle_control_flags(w.number("flags")?.unwrap_or(0))
            .creation_timestamp(CreationTimestamp::with_time_and_seq(w.number("created")?.unwrap_or(0), w.number("sequence")?.unwrap_or(0)))
            .lifetime(Duration::from_millis(w.number("lifetime")?.unwrap_or(3600000)));
        if let Some((offset, total)) = w.pair("fragment")? {
            primary = primary.fragmentation_offset(offset).total_data_length(total);
        }
        let mut blocks = vec![block(PAYLOAD_BLOCK, 1, CanonicalData::Data(payload))?];
        if let Some((limit, count)) = w.pair("hops")? {
            blocks.insert(0, block(HOP_COUNT_BLOCK, 2, CanonicalData::HopCount(limit.try_into()?, count.try_into()?))?);
        }
        if let Some(age) = w.number("age")? {
            blocks.insert(0, block(BUNDLE_AGE_BLOCK, 3, CanonicalData::BundleAge(age))?);
        }
        if w.text("previous").is_some() {
            blocks.insert(0, block(PREVIOUS_NODE_BLOCK, 4, CanonicalData::PreviousNode(eid("previous")?))?);
        }
        let mut b = Bundle::new(primary.build().map_err(|e| e.to_string())?, blocks);
        b.set_crc(w.number("crc")?.unwrap_or(2).try_into()?);
        let wire = b.to_cbor(); // with the check values, which are valid only now
        b.validate().map_err(|e| format!("{e:?}"))?;
        Ok(wire)
    }

    pub fn random() -> Vec<u8> {
        bp7::helpers::rnd_bundle(CreationTimestamp::now()).to_cbor()
    }
}

mod with_hardy {
    use super::*;
    use hardy_bpv7::bundle::CheckedBundle;
    use hardy_bpv7::builder::Builder;
    use hardy_bpv7::creation_timestamp::CreationTimestamp;
    use hardy_bpv7::dtn_time::DtnTime;
    use hardy_bpv7::hop_info::HopInfo;
    use hardy_bpv7::{block, bpsec, bundle, crc, eid};

    pub fn show(wire: Vec<u8>) -> Done<(Shown, Vec<u8>)> {
        let checked = CheckedBundle::parse(&wire, bpsec::no_keys)?;
        if checked.new_data.is_some() {
            return Err("it had to be rewritten".into());
        }
        let b = checked.bundle;
        let mut s = Shown {
            source: b.id.source.to_string(),
            destination: b.destination.to_string(),
            report_to: b.report_to.to_string(),
            created: b.id.timestamp.creation_time().map_or(0, DtnTime::millisecs),
            sequence: b.id.timestamp.sequence_number(),
            lifetime: b.lifetime.as_millis() as u64,
            flags: u64::from(&b.flags),
            crc: b.crc_type.into(),
            fragment: b.id.fragment_info.as_ref().map(|f| (f.offset, f.total_adu_length)),
            hops: b.hop_count.as_ref().map(|h| (h.limit, h.count)),
            age: b.age.map(|a| a.as_millis() as u64),
            previous: b.previous_node.as_ref().map(|p| p.to_string()),
            ..Default::default()
        };
        let mut numbers: Vec<_> = b.blocks.keys().copied().filter(|n| *n > 0).collect();
        numbers.sort_by_key(|n| b.blocks[n].extent.start);
        for n in numbers {
            let k = &b.blocks[&n];
            s.blocks.push((k.block_type.into(), n, u64::from(&k.flags), k.crc_type.into()));
        }
        let payload = b.blocks[&1].payload(&wire).ok_or("no payload")?.to_vec();
        Ok((s, payload))
    }

    pub fn make(w: &Wanted, payload: Vec<u8>) -> Done<Vec<u8>> {
        let eid = |key: &str| -> Done<eid::Eid> { Ok(w.text(key).unwrap_or("dtn:none").parse::<eid::Eid>()?) };
        let crc: crc::CrcType = w.number("crc")?.unwrap_or(2).into();
        let created = w.number("created")?.unwrap_or(0);
        let time = (created > 0).then(|| DtnTime::new(created));
        let mut b = Builder::new(eid("source")?, eid("destination")?)
            .with_report_to(eid("report_to")?)
            .with_crc_type(crc)
            .with_flags(bundle::Flags::from(w.number("flags")?.unwrap_or(0)))
            .with_lifetime(core::time::Duration::from_millis(w.number("lifetime")?.unwrap_or(3600000)));
        if w.text("previous").is_some() {
            let data = hardy_cbor::encode::emit(&eid("previous")?).0;
            b = b.add_extension_block(block::Type::PreviousNode)?.with_crc_type(crc).build(data.into());
        }
        if let Some(age) = w.number("age")? {
            b = b.add_extension_block(block::Type::BundleAge)?.with_crc_type(crc).build(hardy_cbor::encode::emit(&age).0.into());
        }
        if let Some((limit, count)) = w.pair("hops")? {
            b = b.with_hop_count(&HopInfo { limit, count });
        }
        let b = b.add_extension_block(block::Type::Payload)?.with_crc_type(crc).build(payload.into());
        let stamp = CreationTimestamp::from_parts(time, w.number("sequence")?.unwrap_or(0));
        Ok(b.build(stamp)?.1.into_vec())
    }
}

fn run(words: &[String]) -> Done<()> {
    let mut input = Vec::new();
    let (library, what) = (words.first().ok_or("which library?")?.as_str(), words.get(1).ok_or("what?")?.as_str());
    if what != "random" && what != "secure" {
        std::io::stdin().read_to_end(&mut input)?;
    }
    let out = match (library, what) {
        (_, "show") => {
            let (shown, payload) = if library == "bp7" { with_bp7::show(input)? } else { with_hardy::show(input)? };
            std::fs::write(words.get(2).ok_or("which file?")?, payload)?;
            shown.json().into_bytes()
        }
        ("bp7", "make") => with_bp7::make(&Wanted::new(&words[2..])?, input)?,
        ("hardy", "make") => with_hardy::make(&Wanted::new(&words[2..])?, input)?,
        ("hardy", "open") => security::open(&input)?,
        ("hardy", "secure") => {
            let numbers: Vec<u64> = words[2..].iter().map(|w| w.parse()).collect::<Result<_, _>>()?;
            let [seed, count] = numbers[..] else { return Err("SEED COUNT".into()) };
            security::make(seed, count)?
        }
        ("bp7", "random") => with_bp7::random(),
        _ => return Err("bp7|hardy show|make, bp7 random, hardy secure|open".into()),
    };
    Ok(std::io::stdout().write_all(&out)?)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Err(e) = run(&words) {
        eprintln!("bundle-peers: {e}");
        std::process::exit(1);
    }
}
