#include "tests/place/sources.h"

#include "dsl/builtin.h"
#include "dsl/wkvc.h"

namespace wkvc::test {

Source rwkv6_source(const Config& config) { return rec_source(rwkv6(), config); }
Source rwkv7_source(const Config& config) { return rec_source(rwkv7(), config); }

}  // namespace wkvc::test
