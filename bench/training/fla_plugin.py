"""A plugin of pytest that runs tests of flash-linear-attention on wkvc, and reports which calls did not run there.

In a clone of flash-linear-attention, with this file's folder in PYTHONPATH:

    python -m pytest -p fla_plugin tests/ops/test_rwkv7.py tests/ops/test_dplr_delta.py
"""
import wkvc.fla


def pytest_configure(config):
    wkvc.fla.enable()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("wkvc.fla.report()")
    wkvc.fla.report()
