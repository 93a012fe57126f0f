// Which sources are real where. A report to a source that isn't would let anyone direct reports at anyone, and a report
// from one is believed: no datagram to a control port may enter with it.

#ifndef CRN_SOURCE_CHECK_P4
#define CRN_SOURCE_CHECK_P4

// `invalid` is 0 before.
control SourceCheck(in port_id_t ingress_port, in address_t src_addr, inout bit<1> invalid) {
    @id(0x01000010) @name(".set_source_valid")
    action set_source_valid(@id(1) @name("valid") bit<1> valid) {
        invalid = ~valid;
    }

    // Filled by the controller from the topology, for ports where hosts are attached: the hosts' prefixes valid, all
    // others (::/0) not. A port without entries, such as one to another switch, is not checked. IPv4 addresses in
    // the mapped form.
    @id(0x02000010) @name(".source_check")
    table source_check {
        key = {
            ingress_port : exact @id(1) @name("ingress_port");
            src_addr : lpm @id(2) @name("src_addr");
        }
        actions = { set_source_valid; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SOURCE_CHECK_SIZE;
    }

    apply {
        source_check.apply();
    }
}

#endif
