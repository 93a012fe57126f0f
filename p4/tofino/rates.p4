// What a congested queue leaves of a share: include/rates.p4 has share x (1 - degree / 510) exactly, by a product of 81 bits. The
// chip multiplies nothing. Four bits of the degree stand for eight: share - share x floor(degree / 16) / 32, as at most
// four shifts. Never less than the exact rate, and at most 16 / 510 of the share and 5 Mbit/s more.

#ifndef CRN_TOFINO_RATES_P4
#define CRN_TOFINO_RATES_P4

// Rates where 0 isn't "none": all ones is no limit, so that the least of two is a minimum.
const mbit_per_sec_t NO_LIMIT = 0xFFFFFFFF;

control CongestedShare(in mbit_per_sec_t share, in bit<8> degree, in mbit_per_sec_t floor, out mbit_per_sec_t rate) {
    bit<32> quarter;
    bit<32> eighth;
    bit<32> sixteenth;
    bit<32> thirty_second;
    bit<32> coarse;
    bit<32> fine;

    @hidden
    action take_quarter() { quarter = share >> 2; }
    @hidden
    action take_no_quarter() { quarter = 0; }
    @hidden
    action take_eighth() { eighth = share >> 3; }
    @hidden
    action take_no_eighth() { eighth = 0; }
    @hidden
    action take_sixteenth() { sixteenth = share >> 4; }
    @hidden
    action take_no_sixteenth() { sixteenth = 0; }
    @hidden
    action take_thirty_second() { thirty_second = share >> 5; }
    @hidden
    action take_no_thirty_second() { thirty_second = 0; }

    @hidden
    table quarters {
        key = { degree[7:7] : exact @name("bit"); }
        actions = { take_quarter; take_no_quarter; }
        const default_action = take_no_quarter();
        const entries = { 1 : take_quarter(); }
    }

    @hidden
    table eighths {
        key = { degree[6:6] : exact @name("bit"); }
        actions = { take_eighth; take_no_eighth; }
        const default_action = take_no_eighth();
        const entries = { 1 : take_eighth(); }
    }

    @hidden
    table sixteenths {
        key = { degree[5:5] : exact @name("bit"); }
        actions = { take_sixteenth; take_no_sixteenth; }
        const default_action = take_no_sixteenth();
        const entries = { 1 : take_sixteenth(); }
    }

    @hidden
    table thirty_seconds {
        key = { degree[4:4] : exact @name("bit"); }
        actions = { take_thirty_second; take_no_thirty_second; }
        const default_action = take_no_thirty_second();
        const entries = { 1 : take_thirty_second(); }
    }

    @hidden
    action add_pairs() {
        coarse = quarter + eighth;
        fine = sixteenth + thirty_second;
    }

    @hidden
    action add_all() {
        coarse = coarse + fine;
    }

    @hidden
    action subtract() {
        rate = share - coarse;
    }

    @hidden
    action at_least_floor() {
        rate = max(rate, floor);
    }

    @hidden
    action no_limit() {
        rate = NO_LIMIT;
    }

    @hidden
    action one() {
        rate = 1;
    }

    // A share of 0 is one that isn't known.
    @hidden
    table known {
        key = {
            share : ternary @name("share");
            rate : ternary @name("rate");
        }
        actions = { no_limit; one; NoAction; }
        const default_action = NoAction();
        const entries = {
            (32w0, _) : no_limit();
            (_, 32w0) : one();
        }
    }

    apply {
        quarters.apply();
        eighths.apply();
        sixteenths.apply();
        thirty_seconds.apply();
        add_pairs();
        add_all();
        subtract();
        at_least_floor();
        known.apply();
    }
}

// 0 is "not set"; the chip's minimum wants that to be the largest number.
control Unlimited(inout mbit_per_sec_t rate) {
    @hidden
    action no_limit() {
        rate = NO_LIMIT;
    }

    @hidden
    table unset {
        key = { rate : ternary @name("rate"); }
        actions = { no_limit; NoAction; }
        const default_action = NoAction();
        const entries = { 32w0 : no_limit(); }
    }

    apply {
        unset.apply();
    }
}

#endif
