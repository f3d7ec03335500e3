// cached_process DIRECTORY: a process that has just been started gets a kernel by way of the cache in this directory.
// It prints whether it opened NVRTC, a hash of what it got, and the milliseconds that took.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/base/hash.h"
#include "runtime/cache/cubin_cache.h"
#include "tests/runtime/tiny_kernel.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const std::string source = wkvc::tiny_kernel();
    const auto start = std::chrono::steady_clock::now();
    wkvc::DiskCache cache({.directory = argv[1], .why_off = {}});
    const wkvc::CubinResult result = wkvc::cached_cubin(source, wkvc::manifest_from(source), {}, cache);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::ifstream stream("/proc/self/maps");
    const std::string maps{std::istreambuf_iterator<char>(stream), {}};
    fmt::print(
        "{} {} {:.3f}\n", maps.find("libnvrtc") == std::string::npos ? "unopened" : "opened",
        wkvc::hex(wkvc::hash128({result.cubin.data(), result.cubin.size()})) + wkvc::hex(wkvc::hash128(result.log)),
        took.count());
    return 0;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
