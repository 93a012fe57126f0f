// Who this switch is when it reports, and the domain's three UDP ports.

#ifndef CRN_REPORTER_P4
#define CRN_REPORTER_P4

control Reporter(out bit<1> has_reporter, out bit<32> reporter_id, out bit<32> ipv4_address, out bit<128> ipv6_address,
                 out bit<16> rdcc_port, out bit<16> crem_port, out bit<16> scone_port) {
    @id(0x01000007) @name(".set_reporter")
    action set_reporter(@id(1) @name("reporter_id") bit<32> id, @id(2) @name("ipv4_address") bit<32> ipv4,
                        @id(3) @name("ipv6_address") bit<128> ipv6, @id(4) @name("rdcc_port") bit<16> rdcc,
                        @id(5) @name("crem_port") bit<16> crem, @id(6) @name("scone_port") bit<16> scone) {
        has_reporter = 1;
        reporter_id = id;
        ipv4_address = ipv4;
        ipv6_address = ipv6;
        rdcc_port = rdcc;
        crem_port = crem;
        scone_port = scone;
    }

    // Keyless: the controller sets it by modifying the default action. Until then nothing is reported. Where an
    // address is 0, nothing is reported about packets of its family.
    @id(0x02000007) @name(".reporter")
    table reporter {
        actions = { @defaultonly set_reporter; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        has_reporter = 0;
        reporter_id = 0;
        ipv4_address = 0;
        ipv6_address = 0;
        rdcc_port = 0;
        crem_port = 0;
        scone_port = 0;
        reporter.apply();
    }
}

#endif
