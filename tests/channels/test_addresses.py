import pytest

from redeliver.channels.addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "149.154.167.220",
        "99.255.255.255",
        "100.128.0.1",
        "168.63.129.15",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.1.1",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
    ],
)
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("0.0.0.0", "this host"),
        ("0.1.2.3", "this network"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.100.100.200", "metadata of Alibaba"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("168.63.129.16", "host agent of Azure"),
        ("169.254.0.1", "link-local"),
        ("169.254.169.254", "metadata of EC2"),
        ("169.254.170.2", "credentials of ECS"),
        ("169.254.170.23", "credentials of EKS"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "metadata of Oracle"),
        ("192.0.2.1", "documentation"),
        ("192.88.99.1", "6to4 relay"),
        ("192.168.0.1", "private"),
        ("198.18.0.1", "benchmarking"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::127.0.0.1", "IPv4-compatible"),
        ("::ffff:127.0.0.1", "mapped loopback"),
        ("::ffff:169.254.169.254", "mapped metadata"),
        ("::ffff:0:10.0.0.1", "translated"),
        ("64:ff9b::10.0.0.1", "NAT64 of private"),
        ("64:ff9b::169.254.169.254", "NAT64 of metadata"),
        ("64:ff9b:1::1.1.1.1", "local NAT64"),
        ("100::1", "discard"),
        ("2001::1", "Teredo"),
        ("2001:2::1", "benchmarking"),
        ("2001:20::1", "ORCHID"),
        ("2001:db8::1", "documentation"),
        ("2002:7f00:1::", "6to4 of loopback"),
        ("2002:101:101::", "6to4"),
        ("3fff::1", "documentation"),
        ("5f00::1", "segment routing"),
        ("fc00::1", "unique local"),
        ("fd00:ec2::254", "metadata of EC2"),
        ("fd00:ec2::23", "credentials of EKS"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local with a zone"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
    ],
)
def test_special(address: str, what: str) -> None:
    assert not is_public(address), what
