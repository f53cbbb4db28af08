"""Pickles that were written when modules had other names, and what those of today name."""

from __future__ import annotations

import base64
import pickle
import pickletools
from typing import Any

import pytest

import nbautograd as torch

# Written by the code before the modules were sorted into packages.
FORMER = {
    "tensor": (
        "gASVHgEAAAAAAACMEW5iYXV0b2dyYWQudGVuc29ylIwIX3JlYnVpbGSUk5QojApuYmF1dG9ncmFklIwGVGVuc29ylJOUjBZudW1w"
        "eS5fY29yZS5tdWx0aWFycmF5lIwMX3JlY29uc3RydWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLEIWU"
        "aAmMBWR0eXBllJOUjAJ1MZSJiIeUUpQoSwOMAXyUTk5OSv////9K/////0sAdJRiiUMQAACAPwAAAEAAAEBAAACAQJR0lGIojBFu"
        "YmF1dG9ncmFkLmR0eXBlc5SMCF9ieV9uYW1llJOUjAdmbG9hdDMylIWUUpRLAksChpRLCEsEhpRLAHSUjANjcHWUiHSUUpQu"
    ),
    "view": (
        "gASVPAEAAAAAAACMEW5iYXV0b2dyYWQudGVuc29ylIwIX3JlYnVpbGSUk5QojApuYmF1dG9ncmFklIwGVGVuc29ylJOUjBZudW1w"
        "eS5fY29yZS5tdWx0aWFycmF5lIwMX3JlY29uc3RydWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLMIWU"
        "aAmMBWR0eXBllJOUjAJ1MZSJiIeUUpQoSwOMAXyUTk5OSv////9K/////0sAdJRiiUMwAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAA"
        "AwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAAlHSUYiiMEW5iYXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SMBWludDY0lIWUUpRL"
        "A0sChpRLCEsYhpRLAHSUjANjcHWUiXSUUpQu"
    ),
    "parameter": (
        "gASVIgEAAAAAAACMEW5iYXV0b2dyYWQudGVuc29ylIwIX3JlYnVpbGSUk5QojBduYmF1dG9ncmFkLm5uLnBhcmFtZXRlcpSMCVBh"
        "cmFtZXRlcpSTlIwWbnVtcHkuX2NvcmUubXVsdGlhcnJheZSMDF9yZWNvbnN0cnVjdJSTlIwFbnVtcHmUjAduZGFycmF5lJOUSwCF"
        "lEMBYpSHlFKUKEsBSwiFlGgJjAVkdHlwZZSTlIwCdTGUiYiHlFKUKEsDjAF8lE5OTkr/////Sv////9LAHSUYolDCAAAgD8AAIA/"
        "lHSUYiiMEW5iYXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SMB2Zsb2F0MzKUhZRSlEsChZRLBIWUSwB0lIwDY3B1lIh0lFKU"
        "Lg=="
    ),
    "module": (
        "gASVDgUAAAAAAACMH25iYXV0b2dyYWQubm4ubW9kdWxlcy5jb250YWluZXKUjApTZXF1ZW50aWFslJOUKYGUfZQojAh0cmFpbmlu"
        "Z5SIjAtfcGFyYW1ldGVyc5R9lIwIX2J1ZmZlcnOUfZSMCF9tb2R1bGVzlH2UKIwBMJSMHG5iYXV0b2dyYWQubm4ubW9kdWxlcy5s"
        "aW5lYXKUjAZMaW5lYXKUk5QpgZR9lChoBYhoBn2UKIwGd2VpZ2h0lIwRbmJhdXRvZ3JhZC50ZW5zb3KUjAhfcmVidWlsZJSTlCiM"
        "F25iYXV0b2dyYWQubm4ucGFyYW1ldGVylIwJUGFyYW1ldGVylJOUjBZudW1weS5fY29yZS5tdWx0aWFycmF5lIwMX3JlY29uc3Ry"
        "dWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLCIWUaB2MBWR0eXBllJOUjAJ1MZSJiIeUUpQoSwOMAXyU"
        "Tk5OSv////9K/////0sAdJRiiUMIInmtu5w2wj6UdJRiKIwRbmJhdXRvZ3JhZC5kdHlwZXOUjAhfYnlfbmFtZZSTlIwHZmxvYXQz"
        "MpSFlFKUSwFLAoaUSwhLBIaUSwB0lIwDY3B1lIh0lFKUjARiaWFzlGgWKGgZaBxoH0sAhZRoIYeUUpQoSwFLBIWUaCmJQwSx/BS/"
        "lHSUYihoM0sBhZRLBIWUSwB0lGg3iHSUUpR1aAh9lGgKfZSMG19ub25fcGVyc2lzdGVudF9idWZmZXJzX3NldJSPlIwSX2Zvcndh"
        "cmRfcHJlX2hvb2tzlIwcbmJhdXRvZ3JhZC5ubi5tb2R1bGVzLl9jYWxsc5SMCV9SZWdpc3RyeZSTlClSlH2UKIwLd2l0aF9rd2Fy"
        "Z3OUj5SMC2Fsd2F5c19jYWxslI+UdWKMDl9mb3J3YXJkX2hvb2tzlGhNKVKUfZQoaFCPlGhSj5R1YowTX2JhY2t3YXJkX3ByZV9o"
        "b29rc5RoTSlSlH2UKGhQj5RoUo+UdWKMD19iYWNrd2FyZF9ob29rc5RoTSlSlH2UKGhQj5RoUo+UdWKMEV9zdGF0ZV9kaWN0X2hv"
        "b2tzlIwLY29sbGVjdGlvbnOUjAtPcmRlcmVkRGljdJSTlClSlIwVX3N0YXRlX2RpY3RfcHJlX2hvb2tzlGhmKVKUjBpfbG9hZF9z"
        "dGF0ZV9kaWN0X3ByZV9ob29rc5RoZilSlIwbX2xvYWRfc3RhdGVfZGljdF9wb3N0X2hvb2tzlGhmKVKUjAtpbl9mZWF0dXJlc5RL"
        "AowMb3V0X2ZlYXR1cmVzlEsBdWKMATGUjCBuYmF1dG9ncmFkLm5uLm1vZHVsZXMuYWN0aXZhdGlvbpSMBFJlTFWUk5QpgZR9lCho"
        "BYhoBn2UaAh9lGgKfZRoSI+UaEpoTSlSlH2UKGhQj5RoUo+UdWJoVGhNKVKUfZQoaFCPlGhSj5R1YmhZaE0pUpR9lChoUI+UaFKP"
        "lHViaF5oTSlSlH2UKGhQj5RoUo+UdWJoY2hmKVKUaGhoZilSlGhqaGYpUpRobGhmKVKUjAdpbnBsYWNllIl1YnVoSI+UaEpoTSlS"
        "lH2UKGhQj5RoUo+UdWJoVGhNKVKUfZQoaFCPlGhSj5R1YmhZaE0pUpR9lChoUI+UaFKPlHViaF5oTSlSlH2UKGhQj5RoUo+UdWJo"
        "Y2hmKVKUaGhoZilSlGhqaGYpUpRobGhmKVKUdWIu"
    ),
    "results": (
        "gASVoQEAAAAAAACMEm5iYXV0b2dyYWQucmV0dXJuc5SMCF9yZWJ1aWxklJOUjANtYXiUjAZ2YWx1ZXOUjAdpbmRpY2VzlIaUjBFu"
        "YmF1dG9ncmFkLnRlbnNvcpRoAZOUKIwKbmJhdXRvZ3JhZJSMBlRlbnNvcpSTlIwWbnVtcHkuX2NvcmUubXVsdGlhcnJheZSMDF9y"
        "ZWNvbnN0cnVjdJSTlIwFbnVtcHmUjAduZGFycmF5lJOUSwCFlEMBYpSHlFKUKEsBSwiFlGgPjAVkdHlwZZSTlIwCdTGUiYiHlFKU"
        "KEsDjAF8lE5OTkr/////Sv////9LAHSUYolDCAAAgD8AAIA/lHSUYiiMEW5iYXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SM"
        "B2Zsb2F0MzKUhZRSlEsChZRLBIWUSwB0lIwDY3B1lIl0lFKUaAgoaAtoDmgRSwCFlGgTh5RSlChLAUsQhZRoG4lDEAAAAAAAAAAA"
        "AAAAAAAAAACUdJRiKGgijAVpbnQ2NJSFlFKUSwKFlEsIhZRLAHSUaCmJdJRSlIaUh5RSlC4="
    ),
    "late results": (
        "gASVrgEAAAAAAACMEm5iYXV0b2dyYWQucmV0dXJuc5SMCF9yZWJ1aWxklJOUjARzb3J0lIwGdmFsdWVzlIwHaW5kaWNlc5SGlIwR"
        "bmJhdXRvZ3JhZC50ZW5zb3KUaAGTlCiMCm5iYXV0b2dyYWSUjAZUZW5zb3KUk5SMFm51bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAxf"
        "cmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5RSlChLAUsMhZRoD4wFZHR5cGWUk5SMAnUxlImIh5RS"
        "lChLA4wBfJROTk5K/////0r/////SwB0lGKJQwwAAIA/AACAPwAAgD+UdJRiKIwRbmJhdXRvZ3JhZC5kdHlwZXOUjAhfYnlfbmFt"
        "ZZSTlIwHZmxvYXQzMpSFlFKUSwOFlEsEhZRLAHSUjANjcHWUiXSUUpRoCChoC2gOaBFLAIWUaBOHlFKUKEsBSxiFlGgbiUMYAAAA"
        "AAAAAAABAAAAAAAAAAIAAAAAAAAAlHSUYihoIowFaW50NjSUhZRSlEsDhZRLCIWUSwB0lGgpiXSUUpSGlIeUUpQu"
    ),
    "dtype": ("gASVMAAAAAAAAACMEW5iYXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SMB2Zsb2F0MzKUhZRSlC4="),
    "bool dtype": ("gASVLQAAAAAAAACMEW5iYXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SMBGJvb2yUhZRSlC4="),
    "device": ("gASVKwAAAAAAAACMEW5iYXV0b2dyYWQuZGV2aWNllIwGZGV2aWNllJOUjANjcHWUToaUUpQu"),
    "layout": ("gASVIgAAAAAAAACMEm5iYXV0b2dyYWQubGF5b3V0c5SMB3N0cmlkZWSUk5Qu"),
    "memory format": ("gASVKAAAAAAAAACMEm5iYXV0b2dyYWQubGF5b3V0c5SMDWNoYW5uZWxzX2xhc3SUk5Qu"),
    "size": ("gASVJgAAAAAAAACMD25iYXV0b2dyYWQuc2l6ZZSMBFNpemWUk5RLAksDhpSFlFKULg=="),
    "function": ("gASVJQAAAAAAAACMGW5iYXV0b2dyYWQub3BzLmFyaXRobWV0aWOUjANhZGSUk5Qu"),
    "late function": ("gASVJAAAAAAAAACMFW5iYXV0b2dyYWQub3BzLmVpbnN1bZSMBmVpbnN1bZSTlC4="),
    "functional": ("gASVMAAAAAAAAACMI25iYXV0b2dyYWQubm4uZnVuY3Rpb25hbC5hY3RpdmF0aW9ulIwEcmVsdZSTlC4="),
    "optimizer": (
        "gASV8QIAAAAAAACMGG5iYXV0b2dyYWQub3B0aW0uZGVzY2VudJSMA1NHRJSTlCmBlH2UKIwIZGVmYXVsdHOUfZQojAJscpRHP7mZ"
        "mZmZmZqMCG1vbWVudHVtlEc/7MzMzMzMzYwJZGFtcGVuaW5nlEsAjAx3ZWlnaHRfZGVjYXmUSwCMCG5lc3Rlcm92lImMCG1heGlt"
        "aXpllImMB2ZvcmVhY2iUTowOZGlmZmVyZW50aWFibGWUiYwFZnVzZWSUTnWMBXN0YXRllIwLY29sbGVjdGlvbnOUjAtkZWZhdWx0"
        "ZGljdJSTlIwIYnVpbHRpbnOUjARkaWN0lJOUhZRSlIwMcGFyYW1fZ3JvdXBzlF2UfZQojAZwYXJhbXOUXZQojBFuYmF1dG9ncmFk"
        "LnRlbnNvcpSMCF9yZWJ1aWxklJOUKIwXbmJhdXRvZ3JhZC5ubi5wYXJhbWV0ZXKUjAlQYXJhbWV0ZXKUk5SMFm51bXB5Ll9jb3Jl"
        "Lm11bHRpYXJyYXmUjAxfcmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5RSlChLAUsIhZRoJ4wFZHR5"
        "cGWUk5SMAnUxlImIh5RSlChLA4wBfJROTk5K/////0r/////SwB0lGKJQwgiea27nDbCPpR0lGIojBFuYmF1dG9ncmFkLmR0eXBl"
        "c5SMCF9ieV9uYW1llJOUjAdmbG9hdDMylIWUUpRLAUsChpRLCEsEhpRLAHSUjANjcHWUiHSUUpRoIChoI2gmaClLAIWUaCuHlFKU"
        "KEsBSwSFlGgziUMEsfwUv5R0lGIoaD1LAYWUSwSFlEsAdJRoQYh0lFKUZWgHRz+5mZmZmZmaaAhHP+zMzMzMzM1oCUsAaApLAGgL"
        "iWgMiWgNTmgOiWgPTowKaW5pdGlhbF9scpRHP7mZmZmZmZqMDG1heF9tb21lbnR1bZRHP+zMzMzMzM2MDWJhc2VfbW9tZW50dW2U"
        "Rz/pmZmZmZmadWF1Yi4="
    ),
    "scheduler": (
        "gASVxgMAAAAAAACMGm5iYXV0b2dyYWQub3B0aW0uc2NoZWR1bGVzlIwGU3RlcExSlJOUKYGUfZQojAlzdGVwX3NpemWUSwGMBWdh"
        "bW1hlEc/uZmZmZmZmowJb3B0aW1pemVylIwYbmJhdXRvZ3JhZC5vcHRpbS5kZXNjZW50lIwDU0dElJOUKYGUfZQojAhkZWZhdWx0"
        "c5R9lCiMAmxylEc/uZmZmZmZmowIbW9tZW50dW2URz/szMzMzMzNjAlkYW1wZW5pbmeUSwCMDHdlaWdodF9kZWNheZRLAIwIbmVz"
        "dGVyb3aUiYwIbWF4aW1pemWUiYwHZm9yZWFjaJROjA5kaWZmZXJlbnRpYWJsZZSJjAVmdXNlZJROdYwFc3RhdGWUjAtjb2xsZWN0"
        "aW9uc5SMC2RlZmF1bHRkaWN0lJOUjAhidWlsdGluc5SMBGRpY3SUk5SFlFKUjAxwYXJhbV9ncm91cHOUXZR9lCiMBnBhcmFtc5Rd"
        "lCiMEW5iYXV0b2dyYWQudGVuc29ylIwIX3JlYnVpbGSUk5QojBduYmF1dG9ncmFkLm5uLnBhcmFtZXRlcpSMCVBhcmFtZXRlcpST"
        "lIwWbnVtcHkuX2NvcmUubXVsdGlhcnJheZSMDF9yZWNvbnN0cnVjdJSTlIwFbnVtcHmUjAduZGFycmF5lJOUSwCFlEMBYpSHlFKU"
        "KEsBSwiFlGgvjAVkdHlwZZSTlIwCdTGUiYiHlFKUKEsDjAF8lE5OTkr/////Sv////9LAHSUYolDCCJ5rbucNsI+lHSUYiiMEW5i"
        "YXV0b2dyYWQuZHR5cGVzlIwIX2J5X25hbWWUk5SMB2Zsb2F0MzKUhZRSlEsBSwKGlEsISwSGlEsAdJSMA2NwdZSIdJRSlGgoKGgr"
        "aC5oMUsAhZRoM4eUUpQoSwFLBIWUaDuJQwSx/BS/lHSUYihoRUsBhZRLBIWUSwB0lGhJiHSUUpRlaA9HP7mZmZmZmZpoEEc/7MzM"
        "zMzMzWgRSwBoEksAaBOJaBSJaBVOaBaJaBdOjAppbml0aWFsX2xylEc/uZmZmZmZmowMbWF4X21vbWVudHVtlEc/7MzMzMzMzYwN"
        "YmFzZV9tb21lbnR1bZRHP+mZmZmZmZp1YXVijAhiYXNlX2xyc5RdlEc/uZmZmZmZmmGMCmxhc3RfZXBvY2iUSwCMC19zdGVwX2Nv"
        "dW50lEsBjAtfaXNfaW5pdGlhbJSJjBpfZ2V0X2xyX2NhbGxlZF93aXRoaW5fc3RlcJSJjAhfbGFzdF9scpRdlEc/uZmZmZmZmmF1"
        "Yi4="
    ),
    "cyclic": (
        "gASVjgQAAAAAAACMF25iYXV0b2dyYWQub3B0aW0uY3ljbGVzlIwIQ3ljbGljTFKUk5QpgZR9lCiMB21heF9scnOUXZRHP8mZmZmZ"
        "mZphjAp0b3RhbF9zaXpllEdAr0AAAAAAAIwKc3RlcF9yYXRpb5RHP+AAAAAAAACMBG1vZGWUjAp0cmlhbmd1bGFylIwFZ2FtbWGU"
        "Rz/wAAAAAAAAjBBfc2NhbGVfZm5fY3VzdG9tlE6MCnNjYWxlX21vZGWUjAVjeWNsZZSMDmN5Y2xlX21vbWVudHVtlIiMCXVzZV9i"
        "ZXRhMZSJjA1tYXhfbW9tZW50dW1zlF2URz/szMzMzMzNYYwOYmFzZV9tb21lbnR1bXOUXZRHP+mZmZmZmZphjAlvcHRpbWl6ZXKU"
        "jBhuYmF1dG9ncmFkLm9wdGltLmRlc2NlbnSUjANTR0SUk5QpgZR9lCiMCGRlZmF1bHRzlH2UKIwCbHKURz+5mZmZmZmajAhtb21l"
        "bnR1bZRHP+zMzMzMzM2MCWRhbXBlbmluZ5RLAIwMd2VpZ2h0X2RlY2F5lEsAjAhuZXN0ZXJvdpSJjAhtYXhpbWl6ZZSJjAdmb3Jl"
        "YWNolE6MDmRpZmZlcmVudGlhYmxllImMBWZ1c2VklE51jAVzdGF0ZZSMC2NvbGxlY3Rpb25zlIwLZGVmYXVsdGRpY3SUk5SMCGJ1"
        "aWx0aW5zlIwEZGljdJSTlIWUUpSMDHBhcmFtX2dyb3Vwc5RdlH2UKIwGcGFyYW1zlF2UKIwRbmJhdXRvZ3JhZC50ZW5zb3KUjAhf"
        "cmVidWlsZJSTlCiMF25iYXV0b2dyYWQubm4ucGFyYW1ldGVylIwJUGFyYW1ldGVylJOUjBZudW1weS5fY29yZS5tdWx0aWFycmF5"
        "lIwMX3JlY29uc3RydWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLCIWUaD2MBWR0eXBllJOUjAJ1MZSJ"
        "iIeUUpQoSwOMAXyUTk5OSv////9K/////0sAdJRiiUMIInmtu5w2wj6UdJRiKIwRbmJhdXRvZ3JhZC5kdHlwZXOUjAhfYnlfbmFt"
        "ZZSTlIwHZmxvYXQzMpSFlFKUSwFLAoaUSwhLBIaUSwB0lIwDY3B1lIh0lFKUaDYoaDloPGg/SwCFlGhBh5RSlChLAUsEhZRoSYlD"
        "BLH8FL+UdJRiKGhTSwGFlEsEhZRLAHSUaFeIdJRSlGVoHUc/uZmZmZmZmmgeRz/szMzMzMzNaB9LAGggSwBoIYloIoloI05oJIlo"
        "JU6MCmluaXRpYWxfbHKURz+5mZmZmZmajAxtYXhfbW9tZW50dW2URz/szMzMzMzNjA1iYXNlX21vbWVudHVtlEc/6ZmZmZmZmnVh"
        "dWKMCGJhc2VfbHJzlF2URz+5mZmZmZmaYYwKbGFzdF9lcG9jaJRLAIwLX3N0ZXBfY291bnSUSwGMC19pc19pbml0aWFslImMGl9n"
        "ZXRfbHJfY2FsbGVkX3dpdGhpbl9zdGVwlImMCF9sYXN0X2xylF2URz+5mZmZmZmaYXViLg=="
    ),
}
PINNED = {
    "tensor": torch.ones(2, 3).t().requires_grad_(),
    "results": torch.eye(2).max(dim=0),
    "generator": torch.Generator().manual_seed(3),
    "dtype": torch.bfloat16,
    "device": torch.device("cpu"),
    "layout": torch.strided,
    "memory format": torch.channels_last,
    "size": torch.Size([2, 3]),
}


def former(name: str) -> Any:
    return pickle.loads(base64.b64decode(FORMER[name]))


def test_tensors_of_former_days() -> None:
    x, view, parameter = former("tensor"), former("view"), former("parameter")
    assert type(x) is torch.Tensor and x.requires_grad and x.tolist() == [[1, 2], [3, 4]]
    assert view.shape == (3, 2) and view.stride() == (1, 3) and view.dtype is torch.int64 and view[2, 1] == 5
    assert type(parameter) is torch.nn.Parameter and parameter.tolist() == [1, 1]


def test_results_of_former_days() -> None:
    values, indices = former("results")
    assert former("results").values.tolist() == values.tolist() == [1, 1] and indices.dtype is torch.int64
    assert type(former("late results")) is type(torch.ones(3).sort())


def test_constants_of_former_days() -> None:
    assert former("dtype") is torch.float32 and former("bool dtype") is torch.bool
    assert former("layout") is torch.strided and former("memory format") is torch.channels_last
    assert former("device") == torch.device("cpu") and former("size") == (2, 3) and type(former("size")) is torch.Size


def test_layers_and_optimisers_of_former_days() -> None:
    module, optimizer = former("module"), former("optimizer")
    assert module(torch.ones(1, 2)).shape == (1, 1)
    assert type(optimizer) is torch.optim.SGD and optimizer.param_groups[0]["momentum"] == 0.9
    assert type(former("scheduler")) is torch.optim.lr_scheduler.StepLR
    assert type(former("cyclic")) is torch.optim.lr_scheduler.CyclicLR


def test_a_generator_of_former_days() -> None:
    state = torch.Generator().manual_seed(3).get_state()
    data = b"cnbautograd.generator\n_restored\n(" + pickle.dumps(state, 2)[2:-1] + b"tR."
    assert (
        torch.rand(2, generator=pickle.loads(data)).tolist()
        == torch.rand(2, generator=torch.Generator().manual_seed(3)).tolist()
    )


def test_a_former_module_hides_nothing() -> None:
    former("tensor"), former("device")
    assert torch.tensor([1.0]).tolist() == [1] and isinstance(torch.device("cpu"), torch.device)
    with torch.standing_in("theirs"), pytest.raises(ImportError):
        import theirs.returns  # noqa: F401


@pytest.mark.parametrize("name", PINNED)
def test_what_is_pickled_names_the_package_alone(name: str) -> None:
    data = pickle.dumps(PINNED[name], 2)
    named = {argument for code, argument, _ in pickletools.genops(data) if code.name == "GLOBAL"}
    assert {text.split()[0] for text in named if text.startswith("nbautograd")} == {"nbautograd"}
    assert repr(pickle.loads(data)) == repr(PINNED[name]) or name == "generator"
