// SPDX-License-Identifier: Apache-2.0
//! Receives one LTP block with licklider's library and writes all of it, red and green part, which
//! its own command does not. It stays for `LINGER` after the last byte, so that the sender's repeated
//! checkpoints are answered. usage: licklider-peer LISTEN ENGINE PEER-ENGINE PEER-ADDR BYTES RED OUT
use std::time::Duration;

use licklider_core::{Config, EngineId, Notice, PeerConfig};
use licklider_udp::{Driver, DriverConfig, PeerAddr};

const LINGER: Duration = Duration::from_millis(300);

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 8 {
        return Err("usage: licklider-peer LISTEN ENGINE PEER-ENGINE PEER-ADDR BYTES RED OUT".into());
    }
    let (bytes, red): (usize, usize) = (args[5].parse()?, args[6].parse()?);
    let config = DriverConfig {
        bind: args[1].parse()?,
        engine: Config::new(EngineId(args[2].parse()?), 1),
        peers: vec![PeerAddr {
            peer: PeerConfig::new(EngineId(args[3].parse()?)),
            addr: args[4].parse()?,
        }],
        client_services: vec![1],
        impairment: None,
    };
    let (handle, driver) = Driver::bind(config).await?;
    let mut notices = handle.take_notices().ok_or("no notices")?;
    let running = tokio::spawn(driver.run());
    let mut block = vec![0u8; bytes];
    let (mut red_came, mut green_came) = (red == 0, 0);
    while !red_came || green_came < bytes - red {
        match notices.recv().await.ok_or("the driver has ended")? {
            Notice::RedPartReceived { data, eob, .. } => {
                if data.len() != red || eob != (red == bytes) {
                    return Err(format!("red part of {} bytes, end of block: {eob}", data.len()).into());
                }
                block[..red].copy_from_slice(&data);
                red_came = true;
            }
            Notice::GreenSegmentArrived { offset, data, eob, .. } => {
                let (start, end) = (usize::try_from(offset)?, usize::try_from(offset)? + data.len());
                if start < red || end > bytes || eob != (end == bytes) {
                    return Err(format!("green data [{start}, {end}), end of block: {eob}").into());
                }
                block[start..end].copy_from_slice(&data);
                green_came += data.len();
            }
            Notice::ReceptionSessionCancelled { reason, .. } => {
                return Err(format!("cancelled: {reason}").into());
            }
            _ => {}
        }
    }
    std::fs::write(&args[7], &block)?;
    tokio::time::sleep(LINGER).await;
    running.abort();
    Ok(())
}
