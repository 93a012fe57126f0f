// One of each kind that the project's own program has none of: a table whose entries are counted, metered and age,
// entries that the program brings, an optional field, a digest, a parser value set.
// Compiled with: p4c-bm2-ss --arch v1model -o kinds.json --p4runtime-files kinds.p4info.txtpb kinds.p4
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 509;

@controller_header("packet_in")
header packet_in_h {
    bit<9> ingress_port;
    @padding bit<7> pad;
}

header ethernet_h {
    bit<48> dst_mac;
    bit<48> src_mac;
    bit<16> ether_type;
}

header tag_h {
    bit<16> tag;
}

struct headers_t {
    packet_in_h packet_in;
    ethernet_h ethernet;
    tag_h tag;
}

struct metadata_t {
    bit<2> color;
}

struct learnt_t {
    bit<48> mac;
    bit<9> port;
}

parser KindsParser(packet_in packet, out headers_t headers, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    value_set<bit<16>>(4) tagged_types;

    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            tagged_types: parse_tag;
            default: accept;
        }
    }

    state parse_tag {
        packet.extract(headers.tag);
        transition accept;
    }
}

control KindsVerify(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control KindsIngress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".source_packets") direct_counter(CounterType.packets_and_bytes) source_packets;
    @name(".source_rate") direct_meter<bit<2>>(MeterType.packets) source_rate;

    @name(".to_port")
    action to_port(bit<9> port) {
        source_packets.count();
        source_rate.read(meta.color);
        standard_metadata.egress_spec = port;
    }

    @name(".learn")
    action learn() {
        source_packets.count();
        source_rate.read(meta.color);
        digest<learnt_t>(1, { headers.ethernet.src_mac, standard_metadata.ingress_port });
        standard_metadata.egress_spec = CPU_PORT;
    }

    @name(".source")
    table source {
        key = { headers.ethernet.src_mac : exact @name("src_mac"); }
        actions = { to_port; learn; }
        default_action = learn();
        counters = source_packets;
        meters = source_rate;
        support_timeout = true;
        size = 64;
    }

    @name(".deny")
    action deny() {
        mark_to_drop(standard_metadata);
    }

    @name(".filter")
    table filter {
        key = {
            headers.ethernet.dst_mac : ternary @name("dst_mac");
            headers.tag.tag : optional @name("tag");
        }
        actions = { deny; NoAction; }
        default_action = NoAction();
        entries = {
            (0x0180C2000000 &&& 0xFFFFFFFFFFF0, _) : deny();
            (_, 0xDEAD) : deny();
        }
        size = 16;
    }

    apply {
        source.apply();
        filter.apply();
    }
}

control KindsEgress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            headers.packet_in.setValid();
            headers.packet_in.ingress_port = standard_metadata.ingress_port;
            headers.packet_in.pad = 0;
        }
    }
}

control KindsCompute(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control KindsDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
        packet.emit(headers.tag);
    }
}

V1Switch(KindsParser(), KindsVerify(), KindsIngress(), KindsEgress(), KindsCompute(), KindsDeparser()) main;
