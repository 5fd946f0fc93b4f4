// SPDX-License-Identifier: Apache-2.0
//! A node of hardy's bundle processing agent (hardy-bpa), for labs: one link, a bundle in each UDP datagram. hardy has no daemon among the
//! crates, so the convergence layer is here. Service 128 sends each payload back to its source; service 7 writes payloads into the working
//! folder as received-N and sends them on to service 7 of another node, or back.
//! usage: hardy-node NUMBER LOCAL REMOTE PEER-NUMBER [FORWARD-TO-NUMBER]
use hardy_bpa::bpa::{Bpa, BpaRegistration};
use hardy_bpa::routing::{RouteAction, StaticRoutingAgent};
use hardy_bpa::{Bytes, async_trait, cla, node_ids::NodeIds, services};
use hardy_bpv7::eid::{Eid, IpnNodeId, NodeId, Service};
use std::sync::{Arc, OnceLock, atomic::AtomicUsize, atomic::Ordering};
use tokio::net::UdpSocket;

const DATAGRAM_MAX: usize = 65_535;
const LIFETIME: std::time::Duration = std::time::Duration::from_secs(300);

fn node(number: u32) -> NodeId {
    NodeId::Ipn(IpnNodeId { allocator_id: 0, node_number: number })
}

/// Bundles in datagrams, to one neighbour.
struct Datagrams {
    socket: Arc<UdpSocket>,
    neighbour: NodeId,
    sink: OnceLock<Arc<dyn cla::Sink>>,
}

impl Datagrams {
    fn address() -> cla::ClaAddress {
        cla::ClaAddress::Private(Bytes::from_static(b"neighbour"))
    }

    async fn receive(socket: Arc<UdpSocket>, sink: Arc<dyn cla::Sink>, neighbour: NodeId) {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok(length) = socket.recv(&mut buffer).await {
            let bundle = Bytes::copy_from_slice(&buffer[..length]);
            if let Err(e) = sink.dispatch(bundle, Some(&neighbour), Some(&Self::address())).await {
                println!("a bundle of {length} bytes was refused: {e}");
            }
        }
    }
}

#[async_trait]
impl cla::Cla for Datagrams {
    async fn on_register(&self, sink: Box<dyn cla::Sink>, _: &[NodeId]) {
        let sink: Arc<dyn cla::Sink> = sink.into();
        if self.sink.set(sink.clone()).is_ok() {
            tokio::spawn(Self::receive(self.socket.clone(), sink, self.neighbour.clone()));
        }
    }

    async fn on_unregister(&self) {}

    async fn forward(&self, _: Option<u32>, _: &cla::ClaAddress, bundle: Bytes) -> cla::Result<cla::ForwardBundleResult> {
        match self.socket.send(&bundle).await {
            Ok(_) => Ok(cla::ForwardBundleResult::Sent),
            Err(e) => Err(cla::Error::Internal(e.into())),
        }
    }
}

/// What comes is written down, or goes back or on.
struct Application {
    keep: bool,
    to: Option<Eid>,
    count: AtomicUsize,
    sink: OnceLock<Box<dyn services::ApplicationSink>>,
}

impl Application {
    fn new(keep: bool, to: Option<Eid>) -> Arc<Self> {
        Arc::new(Self { keep, to, count: AtomicUsize::new(0), sink: OnceLock::new() })
    }
}

#[async_trait]
impl services::Application for Application {
    async fn on_register(&self, _: &Eid, sink: Box<dyn services::ApplicationSink>) {
        let _ = self.sink.set(sink);
    }

    async fn on_unregister(&self) {}

    async fn on_receive(&self, source: Eid, _: time::OffsetDateTime, _: bool, payload: Bytes) -> services::Result<()> {
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        println!("{} bytes from {source}", payload.len());
        if self.keep {
            let name = format!("received-{number}");
            std::fs::write(format!("{name}.part"), &payload).and_then(|()| std::fs::rename(format!("{name}.part"), name)).map_err(|e| services::Error::Internal(e.into()))?;
        }
        if let Some(sink) = self.sink.get() {
            sink.send(self.to.clone().unwrap_or(source), payload, LIFETIME, None).await?;
        }
        Ok(())
    }

    async fn on_status_notify(&self, _: &hardy_bpv7::bundle::Id, _: &Eid, _: services::StatusNotify, _: hardy_bpv7::status_report::ReasonCode, _: Option<time::OffsetDateTime>) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [number, local, remote, peer, rest @ ..] = words.as_slice() else {
        return Err("usage: hardy-node NUMBER LOCAL REMOTE PEER-NUMBER [FORWARD-TO-NUMBER]".into());
    };
    let to = rest.first().map(|to| format!("ipn:{to}.7").parse::<Eid>()).transpose()?;
    let (own, neighbour) = (node(number.parse()?), node(peer.parse()?));
    let socket = Arc::new(UdpSocket::bind(local).await?);
    socket.connect(remote).await?;

    let bpa = Bpa::builder().node_ids(NodeIds::try_from([own].as_slice())?).build().await?;
    bpa.start(false);
    let link = Arc::new(Datagrams { socket, neighbour: neighbour.clone(), sink: OnceLock::new() });
    bpa.register_cla("datagrams".to_string(), link.clone(), None).await?;
    link.sink.get().ok_or("the agent gave the link no sink")?.add_peer(Datagrams::address(), &[neighbour]).await?;
    let all = [("ipn:*.*".parse()?, RouteAction::Via(format!("ipn:{peer}.0").parse()?), 100)];
    bpa.register_routing_agent("default".to_string(), Arc::new(StaticRoutingAgent::new(&all))).await?;
    bpa.register_application(Service::Ipn(128), Application::new(false, None)).await?;
    bpa.register_application(Service::Ipn(7), Application::new(true, to)).await?;
    println!("ipn:{number}.0 is ready");
    let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    end.recv().await;
    bpa.shutdown().await;
    Ok(())
}
