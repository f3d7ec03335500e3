// What an entry of the cache is found by: everything that it is made from.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/hash.h"
#include "runtime/version.h"

namespace wkvc {

// What `wkvc cache list` shows of an entry. All of it is part of the key.
struct CacheLabel {
  std::string step;    // what was made: "cubin"
  std::string op;      // "rwkv7"
  std::string config;  // as in the manifest
  std::string arch;    // "sm_90a"
  std::string tool;    // what made it, with its version: "NVRTC 13.0"
  std::string wkvc = std::string(wkvc_version());
};

// Stands for the whole key. 256 bits: two keys that share them are not expected to be met.
struct EntryId {
  Hash128 name{};  // also the name of the entry's file
  Hash128 check{};

  bool operator==(const EntryId&) const = default;
};

class CacheKey {
 public:
  explicit CacheKey(CacheLabel label);

  // One more piece of what the entry is made from: ("option", "-std=c++20"). Their order counts.
  void add(std::string_view what, std::string_view text);

  const CacheLabel& label() const { return label_; }
  EntryId id() const;  // computed from all pieces at every call

 private:
  CacheLabel label_;
  std::string text_;
};

}  // namespace wkvc
