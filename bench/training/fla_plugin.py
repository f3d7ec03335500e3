"""A plugin of pytest that runs tests of flash-linear-attention on wkvc, and reports which calls did not run there.

In a clone of flash-linear-attention, with this file's folder in PYTHONPATH:

    python -m pytest -p fla_plugin tests/ops/test_{comba,delta,delta_product,gdp,dplr_delta,gdn,gdn2,gla}.py
    python -m pytest -p fla_plugin tests/ops/test_{iplr_delta,kda,retention,rwkv6,rwkv7,simple_gla}.py
    python -m pytest -p fla_plugin tests/models/test_modeling_{comba,deltanet,gated_deltanet,gla,hgrn2,kda,rwkv6,rwkv7}.py

Tests hold functions of fla.ops by their names: wkvc has taken them over when pytest loads the tests. Most references
are loops in PyTorch. Those in chunk_ref.py of gated_delta_product call other kernels, which run on wkvc, too. Single
kernels, such as those of gates, stay as they are.
"""
import wkvc.fla
import wkvc.mamba


def pytest_configure(config):
    wkvc.mamba.stand_in()
    wkvc.fla.enable()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("wkvc.fla.report()")
    wkvc.fla.report()
