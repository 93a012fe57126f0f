//! Prefixes of both families as the P4 program's tables hold them: IPv4 as `::ffff:a.b.c.d`.

use std::fmt;
use std::net::IpAddr;

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// An address in 128 bits, IPv4 in the mapped form.
pub fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    }
}

impl Prefix {
    /// The prefix that holds one address only.
    pub const fn only(address: IpAddr) -> Self {
        let length = if address.is_ipv4() { 32 } else { 128 };
        Self { address, length }
    }

    /// Reads `10.0.1.0/24`, `fd00::/64`, or a single address.
    ///
    /// # Errors
    /// What would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = || "write 10.0.1.0/24, fd00::/64 or a single address".to_owned();
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| example())?;
        let Some(length) = length else { return Ok(Self::only(address)) };
        let most = Self::only(address).length;
        let length = length.parse::<u8>().ok().filter(|length| *length <= most);
        let length = length.ok_or_else(|| format!("the length is 0 to {most}"))?;
        let prefix = Self { address, length };
        if prefix.bits() & !prefix.mask() == 0 {
            return Ok(prefix);
        }
        let masked = prefix.bits() & prefix.mask();
        let clean = match address {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the mapped form's low 32 bits are the address"
            )]
            IpAddr::V4(_) => IpAddr::V4((masked as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(masked.into()),
        };
        Err(format!("bits are set beyond the length; did you mean {clean}/{length}?"))
    }

    /// The address in 128 bits.
    pub fn bits(self) -> u128 {
        mapped(self.address)
    }

    /// Length in 128 bits: 96 more than written for IPv4.
    pub fn length(self) -> u8 {
        if self.address.is_ipv4() { self.length + 96 } else { self.length }
    }

    /// A mask of the length.
    pub fn mask(self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.length())).unwrap_or(0)
    }

    /// Its first address and its length as they are written.
    pub const fn parts(self) -> (IpAddr, u8) {
        (self.address, self.length)
    }

    /// Whether an address is one of its, of its own family.
    pub fn holds(self, address: IpAddr) -> bool {
        self.is_ipv4() == address.is_ipv4() && mapped(address) & self.mask() == self.bits()
    }

    /// Whether some address is of both.
    pub fn overlaps(self, other: Self) -> bool {
        self.holds(other.address) || other.holds(self.address)
    }

    /// Whether an address is the first or the last of it, which no IPv4 host can have; prefixes of one or two
    /// addresses have none such (RFC 3021).
    pub fn is_edge(self, address: IpAddr) -> bool {
        let host = mapped(address) & !self.mask();
        self.is_ipv4() && self.length < 31 && self.holds(address) && (host == 0 || host == !self.mask())
    }

    /// Whether its addresses are of IPv4.
    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_mapped_and_96_bits_longer() {
        let prefix = Prefix::parse("10.0.1.0/24").expect("a prefix");
        assert_eq!((prefix.bits(), prefix.length()), (0xffff_0a00_0100, 120));
        assert_eq!(prefix.mask(), u128::MAX << 8);
        assert_eq!(Prefix::parse("10.0.0.1").expect("an address").length(), 128);
        assert_eq!(Prefix::parse("0.0.0.0/0").expect("any").length(), 96);
        let wide = Prefix::parse("::/0").expect("any");
        assert_eq!((wide.bits(), wide.length(), wide.mask()), (0, 0, 0));
        assert_eq!(Prefix::parse("fd00::/64").expect("a prefix").mask(), u128::MAX << 64);
    }

    #[test]
    fn which_addresses_it_holds() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let prefix = Prefix::parse("10.0.1.0/24").expect("a prefix");
        assert!(prefix.holds(address("10.0.1.255")) && !prefix.holds(address("10.0.2.0")));
        assert!(!prefix.holds(address("::ffff:10.0.1.1")), "an IPv6 address, though in the mapped form");
        assert!(prefix.overlaps(Prefix::parse("10.0.0.0/16").expect("a prefix")));
        assert!(!prefix.overlaps(Prefix::parse("10.0.2.0/24").expect("a prefix")));
        for (text, edge) in
            [("10.0.1.0", true), ("10.0.1.1", false), ("10.0.1.254", false), ("10.0.1.255", true)]
        {
            assert_eq!(prefix.is_edge(address(text)), edge, "{text}");
        }
        assert!(!Prefix::parse("10.0.1.0/31").expect("a prefix").is_edge(address("10.0.1.0")));
        assert!(!Prefix::parse("fd00::/64").expect("a prefix").is_edge(address("fd00::")));
    }

    #[test]
    fn what_is_wrong_says_what_would_be_right() {
        let hint = |text| Prefix::parse(text).expect_err("refused");
        assert_eq!(hint("10.0.1.7/24"), "bits are set beyond the length; did you mean 10.0.1.0/24?");
        assert_eq!(hint("fd00::1/64"), "bits are set beyond the length; did you mean fd00::/64?");
        assert_eq!(hint("10.0.0.0/33"), "the length is 0 to 32");
        assert_eq!(hint("fd00::/129"), "the length is 0 to 128");
        assert_eq!(hint("ten"), "write 10.0.1.0/24, fd00::/64 or a single address");
    }
}
