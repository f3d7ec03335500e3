// Built-in recurrences as texts, for tests that know the chunk dialect: dsl/wkvc.h has an Axis of its own.
#pragma once

#include "codegen/compiler.h"

namespace wkvc::test {

Source rwkv6_source(const Config& config);
Source rwkv7_source(const Config& config);

}  // namespace wkvc::test
