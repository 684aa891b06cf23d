"""Which addresses a notification may go to when its channel does not allow private networks."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# `is_global` follows the IANA registry as the running Python knew it; these are what older ones let pass, and what
# is public by number only.
_REFUSED = tuple(
    ip_network(network)
    for network in (
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata
        "168.63.129.16/32",  # Azure's host agent
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
        "192.88.99.0/24",  # 6to4 relays
        "64:ff9b:1::/48",  # NAT64 into the local network
        "2001::/23",  # Teredo, ORCHID and other protocol assignments
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
_UNICAST = ip_network("2000::/3")
_NAT64 = ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Tell whether an address, as the resolver spells it, is one of the public internet.

    An IPv6 address that carries an IPv4 one to which it leads is judged by that one.
    """
    address = _destination(ip_address(text.partition("%")[0]))
    if address.version == 6 and address not in _UNICAST:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _REFUSED)


def _destination(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
