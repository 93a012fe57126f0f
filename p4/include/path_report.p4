// Whether, how often and to whom this switch reports the data packets that it drops.

#ifndef CRN_PATH_REPORT_P4
#define CRN_PATH_REPORT_P4

control PathReportSettings(out bit<1> enabled, out micros_t interval) {
    @id(0x0100000B) @name(".set_path_report")
    action set_path_report(@id(1) @name("interval") micros_t interval_micros) {
        enabled = 1;
        interval = interval_micros;
    }

    // Keyless: the controller sets it by modifying the default action. Until then no PATH_REPORT is sent.
    // `interval`: least time between two about one flow (CREM, Path Reports: they must be limited per flow).
    @id(0x0200000B) @name(".path_report")
    table path_report {
        actions = { @defaultonly set_path_report; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        enabled = 0;
        interval = 0;
        path_report.apply();
    }
}

// CREM, Path Reports: the CSF of a source is the source itself unless another is configured.
control CsfAddress(in address_t src_addr, out address_t csf_addr) {
    @id(0x0100000A) @name(".set_csf")
    action set_csf(@id(1) @name("address") address_t address) {
        csf_addr = address;
    }

    // Filled by the controller from `crem.csf`: sources behind a gateway that repairs for them. The address is of
    // the prefix's family; IPv4 in the mapped form, key and parameter.
    @id(0x0200000A) @name(".csf_address")
    table csf_address {
        key = { src_addr : lpm @id(1) @name("src_addr"); }
        actions = { set_csf; @defaultonly NoAction; }
        const default_action = NoAction();
        size = CSF_ADDRESS_SIZE;
    }

    apply {
        csf_addr = src_addr;
        csf_address.apply();
    }
}

#endif
