// SPDX-License-Identifier: Apache-2.0
// PDUs of ROCF with drawn values, encoded by the classes that dariolucia's library was given by an ASN.1 compiler (jasn1): an
// oracle of its own for a service that LibreCube does not have. Values are drawn by reflection: a class without a tag is a CHOICE,
// one with a list a SEQUENCE OF, others have their members' setters.
//
// java Oracle SEED EACH      prints a line for each PDU: user|provider VERSION NAME HEX, and of a TRANSFER-BUFFER a word for each
//                            item, as sle_pdus prints it
import com.beanit.jasn1.ber.ReverseByteArrayOutputStream;
import com.beanit.jasn1.ber.types.*;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.common.types.*;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.rocf.incoming.pdus.RocfUserToProviderPdu;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.rocf.outgoing.pdus.*;
import eu.dariolucia.ccsds.sle.generated.ccsds.sle.transfer.service.rocf.structures.*;
import java.lang.reflect.*;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.*;

public class Oracle {
    static Random random;
    static int version;
    // Least and most by the name of a member, or of a type: what the modules say in words of their own.
    static final Map<String, long[]> ranges = new HashMap<>();
    static final Map<String, Integer> parameters = Map.ofEntries(Map.entry("ParBufferSize", 4), Map.entry("ParDeliveryMode", 6),
        Map.entry("ParLatencyLimit", 15), Map.entry("ParMinReportingCycle", 301), Map.entry("ParPermittedGvcidSet", 24),
        Map.entry("ParPermittedRprtTypeSet", 101), Map.entry("ParPermittedTcVcidSet", 102), Map.entry("ParPermittedUpdModeSet", 103),
        Map.entry("ParReportingCycle", 26), Map.entry("ParReqGvcId", 28), Map.entry("ParReqControlWordType", 104),
        Map.entry("ParReqTcVcid", 105), Map.entry("ParReqUpdateMode", 106), Map.entry("ParReturnTimeout", 29));
    // Covered with the other services, or not on the wire.
    static final Set<String> left = Set.of("BindInvocation", "BindReturn", "UnbindInvocation", "UnbindReturn", "PeerAbortInvocation");

    static void range(long least, long most, String... names) {
        for (String name : names) ranges.put(name, new long[] { least, most });
    }

    static {
        range(0, 65535, "InvokeId");
        range(0, 4294967295L, "IntUnsignedLong");
        range(1, 65535, "IntPosShort", "Online");
        range(2, 600, "ReportingCycle", "Periodically", "PeriodicReportingOn", "ParMinReportingCycle");
        range(1, 600, "TimeoutPeriod", "ParReturnTimeout");
        range(0, 63, "VcId", "VirtualChannel", "TcVcid");
        range(0, 1023, "SpacecraftId");
        range(0, 3, "VersionNumber", "SubcarrierLockStatus", "LockStatus");
        range(0, 1, "UpdateMode", "RequestedUpdateMode");
        range(0, 2, "RocfProductionStatus", "RocfDeliveryMode", "DeliveryMode", "ControlWordTypeNumber");
        range(-1, 16777215, "DataLinkContinuity");
    }

    static long between(long least, long most) {
        long[] edges = { least, most, 127, 128, 255, 256, 32767, 32768, 65535, 2147483647L, 2147483648L };
        long one = edges[random.nextInt(edges.length)];
        return random.nextBoolean() && one >= least && one <= most ? one : least + Math.floorMod(random.nextLong(), most - least + 1);
    }

    static byte[] octets(int least, int most) {
        byte[] out = new byte[(int) between(least, most)];
        random.nextBytes(out);
        return out;
    }

    static byte[] time(boolean pico) {
        ByteBuffer b = ByteBuffer.allocate(pico ? 10 : 8);
        b.putShort((short) random.nextInt(65536)).putInt(random.nextInt(86400000));
        if (pico) b.putInt(random.nextInt(1000000000)); else b.putShort((short) random.nextInt(1000));
        return b.array();
    }

    static List<Method> setters(Class<?> type) {
        List<Method> all = new ArrayList<>();
        for (Method m : type.getMethods())
            if (m.getName().startsWith("set") && m.getParameterCount() == 1) all.add(m);
        all.sort(Comparator.comparing(Method::getName));
        return all;
    }

    static boolean isChoice(Class<?> type) {
        for (Class<?> c = type; c != Object.class; c = c.getSuperclass())
            for (Field f : c.getDeclaredFields()) if (f.getName().equals("tag")) return false;
        return true;
    }

    static Method list(Class<?> type) {
        for (Method m : type.getMethods()) if (m.getReturnType() == List.class && m.getName().startsWith("get")) return m;
        return null;
    }

    static long number(Class<?> type, String name, Object parent) {
        String outer = parent == null ? "" : parent.getClass().getSimpleName();
        if (name.equals("ParameterName") && parameters.containsKey(outer)) return parameters.get(outer);
        if (type == ParameterName.class || type == RocfParameterName.class) return new ArrayList<>(parameters.values()).get(random.nextInt(parameters.size()));
        if (type == RequestedControlWordTypeNumberV1toV4.class || outer.equals("ParReqControlWordType")) // undefined up to version 4
            return version < 5 && random.nextInt(4) == 0 ? 3 : random.nextInt(3);
        if (name.equals("ParameterValue") && outer.equals("ParReqUpdateMode")) return version < 5 && random.nextInt(4) == 0 ? 3 : random.nextInt(2);
        if (name.equals("Specific")) // diagnostics: START has the most
            return random.nextInt(outer.contains("Start") ? 9 : outer.contains("Schedule") ? 3 : 1);
        if (type == Diagnostics.class) return random.nextBoolean() ? 100 : 127;
        for (String key : new String[] { name.equals("ParameterValue") ? outer : name, type.getSimpleName(), type.getSuperclass().getSimpleName() })
            if (ranges.containsKey(key)) return between(ranges.get(key)[0], ranges.get(key)[1]);
        if (name.endsWith("LockStatus")) return name.startsWith("Subcarrier") ? random.nextInt(4) : new int[] { 0, 1, 3 }[random.nextInt(3)];
        throw new IllegalStateException("no range of " + type + " " + name + " in " + outer);
    }

    static Object draw(Class<?> type, String name, Object parent) throws Exception {
        if (BerNull.class.isAssignableFrom(type)) return type.getConstructor().newInstance();
        if (BerInteger.class.isAssignableFrom(type))
            return type.getConstructor(BigInteger.class).newInstance(BigInteger.valueOf(number(type, name, parent)));
        if (BerObjectIdentifier.class.isAssignableFrom(type)) return new BerObjectIdentifier(new int[] { 1, 3, 112, 4, random.nextInt(9999) });
        if (BerOctetString.class.isAssignableFrom(type)) {
            byte[] value = type == TimeCCSDS.class ? time(false) : type == TimeCCSDSpico.class ? time(true)
                : type == SpaceLinkDataUnit.class ? octets(4, 4) : name.equals("Used") ? octets(8, 256)
                : name.equals("LocalForm") ? octets(1, 16) : name.equals("NotNull") ? octets(1, 128) : null;
            if (value == null) throw new IllegalStateException("no length of " + type + " " + name);
            return type.getConstructor(byte[].class).newInstance((Object) value);
        }
        Object out = type.getConstructor().newInstance();
        Method list = list(type);
        if (list != null) fill(out, list);
        else if (isChoice(type)) choose(out);
        else
            for (Method m : setters(type)) m.invoke(out, draw(m.getParameterTypes()[0], m.getName().substring(3), out));
        return out;
    }

    // Sets are ascending, each member once, as they are written; compositions have each master channel once.
    @SuppressWarnings("unchecked")
    static void fill(Object out, Method list) throws Exception {
        Class<?> of = (Class<?>) ((ParameterizedType) list.getGenericReturnType()).getActualTypeArguments()[0];
        List<Object> all = (List<Object>) list.invoke(out);
        TreeMap<String, Object> once = new TreeMap<>();
        for (int n = 1 + random.nextInt(4); n > 0; n--) {
            Object one = draw(of, of.getSimpleName(), out);
            if (one instanceof BerInteger i) once.put(String.format("%05d", i.value.intValue()), one);
            else if (of.getSimpleName().startsWith("MasterChannel")) once.put("" + once.size(), distinct(one, once.size()));
            else once.put(String.format("%05d", once.size()), one);
        }
        all.addAll(once.values());
    }

    static Object distinct(Object composition, int n) throws Exception {
        composition.getClass().getMethod("setSpacecraftId", BerInteger.class).invoke(composition, new BerInteger(n * 250 + random.nextInt(250)));
        return composition;
    }

    static void choose(Object out) throws Exception {
        List<Method> all = setters(out.getClass());
        if (version < 3) all.removeIf(m -> m.getName().contains("Pico"));
        Method m = all.get(random.nextInt(all.size()));
        m.invoke(out, draw(m.getParameterTypes()[0], m.getName().substring(3), out));
    }

    static String hex(byte[] b) {
        return HexFormat.of().formatHex(b);
    }

    static byte[] encoded(Object pdu) throws Exception {
        ReverseByteArrayOutputStream out = new ReverseByteArrayOutputStream(256, true);
        pdu.getClass().getMethod("encode", java.io.OutputStream.class).invoke(pdu, out);
        return out.getArray();
    }

    static String item(OcfOrNotification o) throws Exception {
        if (o.getSyncNotification() != null) {
            Notification n = o.getSyncNotification().getNotification();
            return "sync:" + (n.getLossFrameSync() != null ? 0 : n.getProductionStatusChange() != null ? 1 : n.getExcessiveDataBacklog() != null ? 2 : 3);
        }
        RocfTransferDataInvocation d = o.getAnnotatedOcf();
        boolean pico = d.getEarthReceiveTime().getCcsdsPicoFormat() != null;
        ByteBuffer t = ByteBuffer.wrap(pico ? d.getEarthReceiveTime().getCcsdsPicoFormat().value : d.getEarthReceiveTime().getCcsdsFormat().value);
        int day = t.getShort() & 0xffff, ms = t.getInt();
        long ps = pico ? t.getInt() : (t.getShort() & 0xffff) * 1000000L;
        boolean global = d.getAntennaId().getGlobalForm() != null;
        byte[] antenna;
        if (global) {
            byte[] whole = encoded(d.getAntennaId().getGlobalForm());
            antenna = Arrays.copyOfRange(whole, 2, whole.length);
        } else antenna = d.getAntennaId().getLocalForm().value;
        BerOctetString note = d.getPrivateAnnotation().getNotNull();
        return String.format("frame:%d.%d.%d:%s:%d:%d:0:%s:%s", day, ms, ps, hex(antenna), global ? 1 : 0, d.getDataLinkContinuity().value,
            note == null ? "" : hex(note.value), hex(d.getData().value));
    }

    static void print(String speaker, int of, Class<?> pdus, int each) throws Exception {
        version = of;
        for (Method m : setters(pdus)) {
            String name = m.getName().substring("setRocf".length());
            if (left.contains(name)) continue;
            for (int n = 0; n < each; n++) {
                Object pdu = pdus.getConstructor().newInstance(), value = draw(m.getParameterTypes()[0], name, null);
                m.invoke(pdu, value);
                StringBuilder line = new StringBuilder(speaker + " " + of + " " + name + " " + hex(encoded(pdu)));
                if (value instanceof RocfTransferBuffer b)
                    for (OcfOrNotification o : b.getOcfOrNotification()) line.append(' ').append(item(o));
                System.out.println(line);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        random = new Random(Long.parseLong(args[0]));
        int each = Integer.parseInt(args[1]);
        for (int v : new int[] { 2, 4, 5 }) {
            print("user", v, RocfUserToProviderPdu.class, each);
            print("provider", v, v < 5 ? RocfProviderToUserPduV1toV4.class : RocfProviderToUserPdu.class, each);
        }
    }
}
