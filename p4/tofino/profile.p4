// Build profiles: which features the program has. Without a switch, everything. What docs/tofino.md measures layer by layer:
//
//   -DCRN_MECHANISM         the congestion report alone: no IPv6, no other kind of report, no fair share
//   -DCRN_MECHANISM -DWITH_X    that and one feature more
//   -DWITHOUT_X             everything but X
//
// A feature that is left out takes its tables along: a controller that finds no such table in the program's P4Info says so.

#ifndef CRN_TOFINO_PROFILE_P4
#define CRN_TOFINO_PROFILE_P4

#ifndef CRN_MECHANISM
#ifndef WITHOUT_IPV6
#define WITH_IPV6
#endif
#ifndef WITHOUT_FAIR_SHARE
#define WITH_FAIR_SHARE
#endif
#ifndef WITHOUT_PATH_REPORT
#define WITH_PATH_REPORT
#endif
#ifndef WITHOUT_RATE_ADVICE
#define WITH_RATE_ADVICE
#endif
#ifndef WITHOUT_RATE_SIGNAL
#define WITH_RATE_SIGNAL
#endif
#ifndef WITHOUT_ECN
#define WITH_ECN
#endif
#ifndef WITHOUT_ACL
#define WITH_ACL
#endif
#ifndef WITHOUT_SOURCE_CHECK
#define WITH_SOURCE_CHECK
#endif
#ifndef WITHOUT_PACKET_IO
#define WITH_PACKET_IO
#endif
#endif

// What features share. A rate for one source or flow comes from the fair share.
#ifdef WITH_RATE_ADVICE
#define WITH_RATES
#define WITH_ROCE
#endif
#ifdef WITH_RATE_SIGNAL
#define WITH_RATES
#define WITH_ROCE
#endif
#ifdef WITH_PATH_REPORT
#define WITH_ROCE
#endif
#ifdef WITH_RATES
#define WITH_FAIR_SHARE
#endif

#endif
