"""A plugin of pytest that runs tests of flash-linear-attention on wkvc, and reports which calls did not run there.

In a clone of flash-linear-attention, with this file's folder in PYTHONPATH:

    python -m pytest -p fla_plugin tests/ops/test_{comba,delta,delta_product,gdp,dplr_delta,gdn,gdn2,gla}.py
    python -m pytest -p fla_plugin tests/ops/test_{iplr_delta,kda,lightning_attn,retention,rwkv6,rwkv7,simple_gla}.py
    python -m pytest -p fla_plugin tests/models/test_modeling_{comba,deltanet,gated_deltanet,gla,hgrn2,kda,rwkv6,rwkv7}.py
    python -m pytest -p fla_plugin --noconftest --on-cpu tests/ops/test_gla.py

Tests hold functions of fla.ops by their names: wkvc has taken them over when pytest loads the tests. Most references
are loops in PyTorch. Those in chunk_ref.py of gated_delta_product call other kernels, which run on wkvc, too. Single
kernels, such as those of gates, stay as they are. Without a GPU, small tests of whole operators pass with --on-cpu, and
others fail as Triton finds no driver.
"""
import fla.utils

import wkvc.fla
import wkvc.mamba

MOST = 3000  # tokens of all heads and batches that a test on a CPU may have


def pytest_addoption(parser):
    parser.addoption("--on-cpu", action="store_true", help="run tests with few tokens on the CPU")


def pytest_configure(config):
    if config.getoption("--on-cpu"):
        fla.utils.device = "cpu"
    wkvc.mamba.stand_in()
    wkvc.fla.enable()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--on-cpu"):
        kept = [item for item in items if 0 < tokens(item) <= MOST]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def tokens(item):
    """Tokens of all heads and batches, as the parameters of a test say; 0 where they do not."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    starts = given.get("cu_seqlens") or [given.get("T", 0)]
    return starts[-1] * given.get("B", 1) * given.get("H", 1)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("wkvc.fla.report()")
    wkvc.fla.report()
