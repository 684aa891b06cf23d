import pytest

from redeliver.channels.links import addresses

WHOLE = "all of the text"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://kibana.example/app/discover#/?_g=(time:(from:now-15m))", [WHOLE]),
        ("https://x.example/~alice/x_1", [WHOLE]),
        ("https://my-site.example", [WHOLE]),
        (f"https://b.s3.example/k?X-Amz-Signature={'0a' * 850}", [WHOLE]),
        ("http://[2001:db8::1]:8443/a", [WHOLE]),
        (
            "https://user:word@x.example:8443/!$&'()*+,;=:@/?/?#/?",
            ["https://user:word@x.example:8443/!$&'()*+,;=:@/?/?#/"],
        ),
        ("HTTPS://X.EXAMPLE/%41", [WHOLE]),
        ("https://x.example/a_", [WHOLE]),
        ("https://x.example/a(b", [WHOLE]),
        ("https://de.wikipedia.org/wiki/M\u00fcnchen", [WHOLE]),
        ("https://x.example/\u0e01\u0e33", [WHOLE]),
        ("see https://x.example/a.", ["https://x.example/a"]),
        ("https://x.example/a, https://x.example/b?! https://x.example/c;", [f"https://x.example/{c}" for c in "abc"]),
        ("<https://x.example/a>", ["https://x.example/a"]),
        ("(https://x.example/a).", ["https://x.example/a"]),
        ("(https://x.example/a)b", ["https://x.example/a"]),
        ("[x](https://x.example/a_(b))", ["https://x.example/a_(b)"]),
        ("[https://x.example/a(b])", ["https://x.example/a(b"]),
        ("'https://x.example/a','https://x.example/b'", ["https://x.example/a", "https://x.example/b"]),
        ('{"url":"https://x.example/a"}', ["https://x.example/a"]),
        ("_https://x.example/a_ **https://x.example/b**", ["https://x.example/a", "https://x.example/b"]),
        ("https://x.example/a|https://x.example/b", ["https://x.example/a", "https://x.example/b"]),
        ("https://x.example/a\u2026 https://x.example/b\u3002c", ["https://x.example/a", "https://x.example/b"]),
        ("\u898b\u3066https://x.example/a\u300d", ["https://x.example/a"]),
        ("https://x.example/a\u200b", ["https://x.example/a"]),
        ("https://x.example/100% of", ["https://x.example/100"]),
        ("https://x.example/a\nhttps://x.example/b", ["https://x.example/a", "https://x.example/b"]),
        ("https:// https://. https:///a https://?a https://#a https://:80 https://@x", []),
        ("git+https://x.example ftp://x.example mailto:a@x.example x.example", []),
    ],
)
def test_what_belongs_to_an_address(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in addresses(text)] == [text if each == WHOLE else each for each in found]
