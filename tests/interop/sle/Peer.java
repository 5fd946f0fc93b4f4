// SPDX-License-Identifier: Apache-2.0
// A user or a provider of one SLE service instance over the library eu.dariolucia.ccsds.sle.utl, as a peer for tests and
// benchmarks. Arguments are key=value (see options below); it prints "ready" when it listens, and one line of key=value
// results at its end. Frames that a provider sends, or a user gets, and CLTUs are files of [length(4)][octets]....
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.cltu.outgoing.pdus.CltuAsyncNotifyInvocation;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.cltu.outgoing.pdus.CltuThrowEventReturn;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.cltu.outgoing.pdus.CltuTransferDataReturn;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.cltu.structures.CltuNotification;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.raf.outgoing.pdus.RafTransferDataInvocation;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.rcf.outgoing.pdus.RcfTransferDataInvocation;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.rocf.outgoing.pdus.RocfTransferDataInvocation;
import eu.dariolucia.ccsds.sle.utl.config.PeerConfiguration;
import eu.dariolucia.ccsds.sle.utl.config.ServiceInstanceConfiguration;
import eu.dariolucia.ccsds.sle.utl.config.cltu.CltuServiceInstanceConfiguration;
import eu.dariolucia.ccsds.sle.utl.config.network.PortMapping;
import eu.dariolucia.ccsds.sle.utl.config.network.RemotePeer;
import eu.dariolucia.ccsds.sle.utl.config.raf.RafServiceInstanceConfiguration;
import eu.dariolucia.ccsds.sle.utl.config.rcf.RcfServiceInstanceConfiguration;
import eu.dariolucia.ccsds.sle.utl.config.rocf.RocfServiceInstanceConfiguration;
import eu.dariolucia.ccsds.sle.utl.si.*;
import eu.dariolucia.ccsds.sle.utl.si.cltu.*;
import eu.dariolucia.ccsds.sle.utl.si.raf.*;
import eu.dariolucia.ccsds.sle.utl.si.rcf.*;
import eu.dariolucia.ccsds.sle.utl.si.rocf.*;
import java.io.*;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.atomic.*;

public class Peer {
    static final Map<String, String> options = new TreeMap<>(Map.ofEntries(
        Map.entry("role", "user"), Map.entry("service", "raf"), Map.entry("port", "0"), Map.entry("version", "4"),
        Map.entry("auth", "NONE"), Map.entry("hash", "SHA_1"), Map.entry("user-id", "TEST-USER"),
        Map.entry("user-password", "000102030405060708090a0b0c0d0e0f"), Map.entry("provider-id", "TEST-PROVIDER"),
        Map.entry("provider-password", "aabbccddeeff00112233"), Map.entry("port-id", "PORT1"),
        Map.entry("instance", "sagr=1.spack=VST-PASS0001.rsl-fg=1.raf=onlc1"), Map.entry("buffer", "10"),
        Map.entry("latency", "1"), Map.entry("frames", "100"), Map.entry("length", "1115"), Map.entry("scid", "171"),
        Map.entry("tfvn", "1"), Map.entry("vcid", "5"), Map.entry("in", ""), Map.entry("out", ""),
        Map.entry("tcp", "0"), Map.entry("seconds", "60"), Map.entry("parameters", "1"), Map.entry("events", ""),
        Map.entry("heartbeat", "30"), Map.entry("from", "0"), Map.entry("to", "0"), // ms since 1970; 0: none
        Map.entry("earliest", "0"), Map.entry("latest", "0"), // ms from the moment of sending a CLTU; 0: none
        Map.entry("abort", "0"), // after this number of frames
        Map.entry("pause", "0"))); // ms after each frame of a provider

    static String option(String key) { return options.get(key); }
    static int number(String key) { return Integer.parseInt(options.get(key)); }

    static final AtomicLong received = new AtomicLong(), octets = new AtomicLong(), returns = new AtomicLong();
    static final AtomicLong negative = new AtomicLong(), radiated = new AtomicLong(), other = new AtomicLong();
    static final AtomicLong errors = new AtomicLong();
    // What came back of events: "+NEXT", "-DIAGNOSTIC:NEXT", and how their actions went, "done:INVOCATION".
    static final StringBuffer events = new StringBuffer();
    static final AtomicLong answered = new AtomicLong();
    static volatile boolean ended, failed;
    static volatile long first, last;
    static DataOutputStream sink;
    static final Map<String, Integer> seen = new TreeMap<>();

    // What one PDU from the other end means here.
    static class Watch implements IServiceInstanceListener {
        public void onStateUpdated(ServiceInstance s, ServiceInstanceState state) { }
        public void onPduSent(ServiceInstance s, Object pdu, String name, byte[] raw) { }
        public void onPduSentError(ServiceInstance s, Object p, String n, byte[] raw, String e, Exception x) {
            errors.incrementAndGet();
            System.err.println("not sent: " + n + " " + e + " " + x);
        }
        public void onPduDecodingError(ServiceInstance s, byte[] raw) {
            errors.incrementAndGet();
            System.err.println("not decoded");
        }
        public void onPduHandlingError(ServiceInstance s, Object pdu, byte[] raw) {
            errors.incrementAndGet();
            System.err.println("not handled: " + pdu);
        }
        public void onPduReceived(ServiceInstance s, Object pdu, String name, byte[] raw) {
            if (pdu instanceof RafTransferDataInvocation p) take(p.getData().value);
            else if (pdu instanceof RcfTransferDataInvocation p) take(p.getData().value);
            else if (pdu instanceof RocfTransferDataInvocation p) take(p.getData().value);
            else if (pdu instanceof CltuTransferDataReturn r) answer(r.getResult().getPositiveResult() != null);
            else if (pdu instanceof CltuThrowEventReturn r) answer(r);
            else if (pdu instanceof CltuAsyncNotifyInvocation n) notified(n);
            else note(name, pdu);
        }
        void answer(boolean positive) {
            returns.incrementAndGet();
            if (!positive) negative.incrementAndGet();
        }
        void notified(CltuAsyncNotifyInvocation n) {
            CltuNotification what = n.getCltuNotification();
            if (what.getCltuRadiated() != null) radiated.incrementAndGet();
            else if (what.getActionListCompleted() != null) happened("done:" + what.getActionListCompleted());
            else if (what.getActionListNotCompleted() != null) happened("not:" + what.getActionListNotCompleted());
            else if (what.getEventConditionEvFalse() != null) happened("false:" + what.getEventConditionEvFalse());
            else other.incrementAndGet();
        }
        void answer(CltuThrowEventReturn r) {
            var no = r.getResult().getNegativeResult();
            happened((no == null ? "+" : "-" + no.getSpecific() + ":") + r.getEventInvocationIdentification());
        }
        void happened(String what) {
            events.append(what).append(',');
            answered.incrementAndGet();
        }
    }

    static synchronized void note(String name, Object pdu) {
        seen.merge(name, 1, Integer::sum);
        if (String.valueOf(pdu).contains("endOfData")) ended = true;
        if (pdu == null) failed = true;
    }

    static void take(byte[] frame) {
        long now = System.nanoTime();
        if (first == 0) first = now;
        last = now;
        try {
            if (sink != null) {
                sink.writeInt(frame.length);
                sink.write(frame);
            }
        } catch (IOException e) {
            errors.incrementAndGet();
        }
        octets.addAndGet(frame.length);
        received.incrementAndGet();
    }

    // ---- configuration ----

    static PeerConfiguration peer(boolean user) {
        PeerConfiguration c = new PeerConfiguration();
        c.setLocalId(option(user ? "user-id" : "provider-id"));
        c.setLocalPassword(option(user ? "user-password" : "provider-password"));
        c.setAuthenticationDelay(180);
        c.setPortMappings(List.of(new PortMapping(option("port-id"), 3, number("heartbeat"), "127.0.0.1:" + option("port"), number("tcp"),
            number("tcp"))));
        c.setRemotePeers(List.of(new RemotePeer(option(user ? "provider-id" : "user-id"),
            AuthenticationModeEnum.valueOf(option("auth")), HashFunctionEnum.valueOf(option("hash")),
            option(user ? "provider-password" : "user-password"))));
        return c;
    }

    static <T extends ServiceInstanceConfiguration> T common(T c) {
        c.setInitiator(InitiatorRoleEnum.USER);
        c.setServiceInstanceIdentifier(option("instance"));
        c.setInitiatorIdentifier(option("user-id"));
        c.setResponderIdentifier(option("provider-id"));
        c.setResponderPortIdentifier(option("port-id"));
        c.setReturnTimeoutPeriod(60);
        c.setReportingCycle(30);
        c.setServiceVersionNumber(number("version"));
        return c;
    }

    static DeliveryModeEnum mode() {
        String last = option("instance").substring(option("instance").lastIndexOf('=') + 1);
        return last.startsWith("onlt") ? DeliveryModeEnum.TIMELY_ONLINE
            : last.startsWith("offl") ? DeliveryModeEnum.OFFLINE : DeliveryModeEnum.COMPLETE_ONLINE;
    }

    static GVCID channel() { return new GVCID(number("scid"), number("tfvn"), number("vcid")); }

    static RafServiceInstanceConfiguration raf() {
        RafServiceInstanceConfiguration c = common(new RafServiceInstanceConfiguration());
        c.setDeliveryMode(mode());
        c.setTransferBufferSize(number("buffer"));
        c.setLatencyLimit(number("latency"));
        c.setMinReportingCycle(3);
        c.setPermittedFrameQuality(List.of(RafRequestedFrameQualityEnum.values()));
        c.setRequestedFrameQuality(RafRequestedFrameQualityEnum.ALL_FRAMES);
        return c;
    }

    static RcfServiceInstanceConfiguration rcf() {
        RcfServiceInstanceConfiguration c = common(new RcfServiceInstanceConfiguration());
        c.setDeliveryMode(mode());
        c.setTransferBufferSize(number("buffer"));
        c.setLatencyLimit(number("latency"));
        c.setMinReportingCycle(3);
        c.setPermittedGvcid(List.of(channel(), new GVCID(number("scid"), number("tfvn"), null)));
        c.setRequestedGvcid(channel());
        return c;
    }

    static RocfServiceInstanceConfiguration rocf() {
        RocfServiceInstanceConfiguration c = common(new RocfServiceInstanceConfiguration());
        c.setDeliveryMode(mode());
        c.setTransferBufferSize(number("buffer"));
        c.setLatencyLimit(number("latency"));
        c.setMinReportingCycle(3);
        c.setPermittedGvcid(List.of(channel(), new GVCID(number("scid"), number("tfvn"), null)));
        c.setPermittedTcVcids(List.of(0, 1, 2));
        c.setPermittedControlWordTypes(List.of(RocfControlWordTypeEnum.values()));
        c.setPermittedUpdateModes(List.of(RocfUpdateModeEnum.values()));
        c.setRequestedGvcid(channel());
        c.setRequestedTcVcid(null);
        c.setRequestedControlWordType(RocfControlWordTypeEnum.ALL);
        c.setRequestedUpdateMode(RocfUpdateModeEnum.CONTINUOUS);
        return c;
    }

    static CltuServiceInstanceConfiguration cltu() {
        CltuServiceInstanceConfiguration c = common(new CltuServiceInstanceConfiguration());
        c.setMinReportingCycle(3);
        c.setMaxCltuLength(4096);
        c.setMinCltuDelay(0);
        c.setBitlockRequired(false);
        c.setRfAvailableRequired(false);
        c.setProtocolAbortMode(CltuProtocolAbortModeEnum.ABORT_MODE);
        c.setAcquisitionSequenceLength(16);
        c.setClcwPhysicalChannel("TM");
        c.setClcwGlobalVcid(new GVCID(number("scid"), 0, 0));
        c.setModulationFrequency(2000000000L);
        c.setModulationIndex(100);
        c.setNotificationMode(CltuNotificationModeEnum.IMMEDIATE);
        c.setPlop1idleSequenceLength(0);
        c.setPlopInEffect(CltuPlopInEffectEnum.PLOP2);
        c.setSubcarrierToBitrateRatio(1);
        return c;
    }

    // ---- helpers ----

    static void await(ServiceInstance s, ServiceInstanceBindingStateEnum state) throws Exception {
        if (!s.waitForState(state, number("seconds") * 1000)) {
            result("state=" + s.getCurrentBindingState());
            System.exit(1);
        }
    }

    static List<byte[]> read(String path) throws IOException {
        List<byte[]> all = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(path)))) {
            while (in.available() > 0) {
                byte[] b = new byte[in.readInt()];
                in.readFully(b);
                all.add(b);
            }
        }
        return all;
    }

    static synchronized void result(String more) {
        double seconds = first == 0 ? 0 : (last - first) / 1e9;
        StringBuilder pdus = new StringBuilder();
        seen.forEach((name, n) -> pdus.append(name.replace(' ', '-')).append(':').append(n).append(','));
        System.out.printf(Locale.ROOT, "result received=%d octets=%d seconds=%.6f returns=%d negative=%d radiated=%d "
            + "other=%d errors=%d ended=%b pdus=%s events=%s %s%n", received.get(), octets.get(), seconds, returns.get(), negative.get(),
            radiated.get(), other.get(), errors.get(), ended, pdus, events, more);
        System.out.flush();
    }

    // Until `enough` of them have come; a second without a new one, after all time has passed, is a failure.
    static void until(AtomicLong count, long enough) throws InterruptedException {
        long deadline = System.nanoTime() + number("seconds") * 1000000000L;
        while (count.get() < enough && System.nanoTime() < deadline) Thread.sleep(1);
    }

    // ---- user ----

    static void runUser() throws Exception {
        String service = option("service");
        ServiceInstance s = switch (service) {
            case "raf" -> new RafServiceInstance(peer(true), raf());
            case "rcf" -> new RcfServiceInstance(peer(true), rcf());
            case "rocf" -> new RocfServiceInstance(peer(true), rocf());
            default -> new CltuServiceInstance(peer(true), cltu());
        };
        s.configure();
        s.register(new Watch());
        s.bind(number("version"));
        await(s, ServiceInstanceBindingStateEnum.READY);
        if (number("parameters") != 0) ask(s);
        start(s);
        await(s, ServiceInstanceBindingStateEnum.ACTIVE);
        if (number("abort") > 0) {
            until(received, number("abort"));
            s.peerAbort(PeerAbortReasonEnum.OPERATIONAL_REQUIREMENTS);
            await(s, ServiceInstanceBindingStateEnum.UNBOUND);
            result("state=" + s.getCurrentBindingState());
            System.exit(0);
        }
        if (s instanceof CltuServiceInstance c) send(c);
        else until(received, number("frames"));
        if (number("parameters") != 0) Thread.sleep(200); // more than was wanted would be seen now
        if (s instanceof RafServiceInstance r) r.stop();
        if (s instanceof RcfServiceInstance r) r.stop();
        if (s instanceof RocfServiceInstance r) r.stop();
        if (s instanceof CltuServiceInstance c) c.stop();
        await(s, ServiceInstanceBindingStateEnum.READY);
        s.unbind(UnbindReasonEnum.END);
        await(s, ServiceInstanceBindingStateEnum.UNBOUND);
        if (sink != null) sink.close();
        result("state=" + s.getCurrentBindingState());
        s.dispose();
    }

    // So many ms after `base`; 0: none.
    static Date time(String key, long base) {
        long ms = Long.parseLong(option(key));
        return ms == 0 ? null : new Date(base + ms);
    }

    static void start(ServiceInstance s) {
        if (s instanceof RafServiceInstance r) r.start(time("from", 0), time("to", 0), RafRequestedFrameQualityEnum.ALL_FRAMES);
        if (s instanceof RcfServiceInstance r) r.start(null, null, channel());
        if (s instanceof RocfServiceInstance r)
            r.start(null, null, channel(), null, RocfControlWordTypeEnum.ALL, RocfUpdateModeEnum.CONTINUOUS);
        if (s instanceof CltuServiceInstance c) c.start(1);
    }

    // Every parameter of the version, and a status report.
    static void ask(ServiceInstance s) throws InterruptedException {
        boolean five = number("version") >= 5;
        if (s instanceof RafServiceInstance r) {
            r.scheduleStatusReport(false, 30);
            for (RafParameterEnum p : RafParameterEnum.values())
                if (five || !p.name().matches("MIN_REPORTING_CYCLE|PERMITTED_FRAME_QUALITY")) r.getParameter(p);
            r.scheduleStatusReport(true, null);
        }
        if (s instanceof RcfServiceInstance r) {
            r.scheduleStatusReport(false, 30);
            for (RcfParameterEnum p : RcfParameterEnum.values())
                if (five || !p.name().equals("MIN_REPORTING_CYCLE")) r.getParameter(p);
            r.scheduleStatusReport(true, null);
        }
        if (s instanceof RocfServiceInstance r) {
            r.scheduleStatusReport(false, 30);
            for (RocfParameterEnum p : RocfParameterEnum.values())
                if (five || !p.name().equals("MIN_REPORTING_CYCLE")) r.getParameter(p);
            r.scheduleStatusReport(true, null);
        }
        if (s instanceof CltuServiceInstance c) {
            c.scheduleStatusReport(false, 30);
            for (CltuParameterEnum p : CltuParameterEnum.values())
                if (five || !p.name().equals("MIN_REPORTING_CYCLE")) c.getParameter(p);
            c.scheduleStatusReport(true, null);
        }
        Thread.sleep(500);
    }

    static void send(CltuServiceInstance c) throws Exception {
        // INVOCATION:EVENT:ANSWERS, one after the other: an event that is accepted has two, a return and its outcome.
        long expected = 0;
        for (String one : option("events").isEmpty() ? new String[0] : option("events").split(",")) {
            String[] part = one.split(":");
            c.throwEvent(Long.parseLong(part[0]), Integer.parseInt(part[1]), new byte[] { 7 });
            until(answered, expected += Integer.parseInt(part[2]));
        }
        List<byte[]> all = read(option("in"));
        long id = 1;
        for (byte[] cltu : all) {
            long now = System.currentTimeMillis();
            c.transferData(id++, time("earliest", now), time("latest", now), 0, true, cltu);
            until(returns, id - 1 - 20); // at most 20 under way
        }
        until(returns, all.size());
        until(radiated, all.size() - (int) negative.get());
    }

    // ---- provider ----

    static void runProvider() throws Exception {
        String service = option("service");
        ServiceInstance s = switch (service) {
            case "raf" -> new RafServiceInstanceProvider(peer(false), raf());
            case "rcf" -> new RcfServiceInstanceProvider(peer(false), rcf());
            case "rocf" -> new RocfServiceInstanceProvider(peer(false), rocf());
            default -> new CltuServiceInstanceProvider(peer(false), cltu());
        };
        s.configure();
        s.register(new Watch());
        if (s instanceof CltuServiceInstanceProvider c) {
            c.setStartOperationHandler(i -> CltuStartResult.noError());
            c.setTransferDataOperationHandler(i -> {
                take(i.getCltuData().value);
                long id = i.getCltuIdentification().value.longValue();
                synchronized (work) { work.add(id); }
                return CltuTransferDataResult.noError(1 << 20);
            });
            c.setThrowEventOperationHandler(i -> {
                int event = i.getEventIdentifier().intValue();
                long invocation = i.getEventInvocationIdentification().longValue();
                if (event > 3) return CltuThrowEventResult.errorSpecific(CltuThrowEventDiagnosticsEnum.NO_SUCH_EVENT);
                c.eventProgress(invocation, event == 3, event == 1);
                return CltuThrowEventResult.noError();
            });
        }
        s.waitForBind(true, null);
        Thread.sleep(500); // it says so before it is
        System.out.println("ready");
        System.out.flush();
        if (s instanceof ReturnServiceInstanceProvider<?, ?, ?> r) provide(r);
        else provide((CltuServiceInstanceProvider) s);
        if (sink != null) sink.close();
        result("state=" + s.getCurrentBindingState());
        s.dispose();
    }

    static final Deque<Long> work = new ArrayDeque<>();

    static boolean reached(ServiceInstance s, ServiceInstanceBindingStateEnum... states) throws InterruptedException {
        long deadline = System.nanoTime() + number("seconds") * 1000000000L;
        while (System.nanoTime() < deadline) {
            for (ServiceInstanceBindingStateEnum state : states)
                if (s.getCurrentBindingState() == state) return true;
            Thread.sleep(2);
        }
        return false;
    }

    static void provide(ReturnServiceInstanceProvider<?, ?, ?> r) throws Exception {
        r.updateProductionStatus(Instant.now(), LockStatusEnum.IN_LOCK, LockStatusEnum.IN_LOCK, LockStatusEnum.IN_LOCK,
            LockStatusEnum.IN_LOCK, ProductionStatusEnum.RUNNING);
        if (!reached(r, ServiceInstanceBindingStateEnum.ACTIVE)) return;
        List<byte[]> frames = option("in").isEmpty() ? null : read(option("in"));
        int n = frames == null ? number("frames") : frames.size(), sent = 0;
        byte[] frame = new byte[number("length")];
        long begin = System.nanoTime();
        for (int i = 0; i < n; i++) {
            byte[] one = frames == null ? frame : frames.get(i);
            boolean ok = r.transferData(one, ReturnServiceInstanceProvider.FRAME_QUALITY_GOOD, i == 0 ? -1 : 0, Instant.now(),
                false, "414e5431", false, new byte[0]);
            if (!ok) break;
            if (number("pause") > 0) Thread.sleep(number("pause"));
            if (++sent == number("abort")) {
                Thread.sleep(500); // what was queued is sent: an abort discards the rest
                r.peerAbort(PeerAbortReasonEnum.OPERATIONAL_REQUIREMENTS);
                reached(r, ServiceInstanceBindingStateEnum.UNBOUND, ServiceInstanceBindingStateEnum.UNBOUND_WAIT);
                return;
            }
        }
        System.err.printf(Locale.ROOT, "sent=%d in %.3f s%n", sent, (System.nanoTime() - begin) / 1e9);
        r.endOfData();
        reached(r, ServiceInstanceBindingStateEnum.UNBOUND, ServiceInstanceBindingStateEnum.UNBOUND_WAIT);
    }

    static void provide(CltuServiceInstanceProvider c) throws Exception {
        c.updateProductionStatus(CltuProductionStatusEnum.OPERATIONAL, CltuUplinkStatusEnum.NOMINAL, 1 << 20);
        if (!reached(c, ServiceInstanceBindingStateEnum.ACTIVE)) return;
        while (c.getCurrentBindingState() == ServiceInstanceBindingStateEnum.ACTIVE) {
            Long id;
            synchronized (work) { id = work.poll(); }
            if (id == null) {
                Thread.sleep(1);
                continue;
            }
            Date now = new Date();
            c.cltuProgress(id, CltuStatusEnum.PRODUCTION_STARTED, now, null, 1 << 20);
            c.cltuProgress(id, CltuStatusEnum.RADIATED, now, new Date(), 1 << 20);
        }
        reached(c, ServiceInstanceBindingStateEnum.UNBOUND, ServiceInstanceBindingStateEnum.UNBOUND_WAIT);
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        for (String a : args) {
            int i = a.indexOf('=');
            if (i < 0 || !options.containsKey(a.substring(0, i))) {
                System.err.println("Peer: '" + a + "': expected one of " + options.keySet() + " and =value");
                System.exit(2);
            }
            options.put(a.substring(0, i), a.substring(i + 1));
        }
        if (!option("out").isEmpty())
            sink = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(option("out")))));
        if (option("role").equals("user")) runUser();
        else runProvider();
        System.exit(0);
    }
}
