// Frames of data: commits, gets and publications.
#ifndef CANOPY_COMMON_LOCAL_DATA_H_
#define CANOPY_COMMON_LOCAL_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"

namespace canopy::local {

inline constexpr size_t kMaxKeys = 1 << 16;

// Keys that were put with one scope.
struct ScopedKvals {
  uint8_t scope = 0;       // pmix_scope_t
  std::string_view kvals;  // KVALs in codec form, back to back
};

template <typename V>
void Describe(V& v, wire::Is<ScopedKvals> auto& m) {
  v.Field(1, m.scope);
  v.Field(2, m.kvals);
}

// kCommit, and a record of a commit mailbox. A later value of a key replaces an
// earlier one.
struct Commit {
  std::vector<ScopedKvals> scopes;
};

template <typename V>
void Describe(V& v, wire::Is<Commit> auto& m) {
  v.Field(1, m.scopes);
}

// kGet. The payload of the reply has the KVALs found, back to back, unless the
// client finds them in a segment.
struct Get {
  ProcView target;       // the rank may be kRankUndef or kRankWildcard
  std::string_view key;  // empty: all keys of the target
  bool immediate = false;
  bool refresh = false;
  uint32_t timeout_ms = 0;  // 0: none
};

template <typename V>
void Describe(V& v, wire::Is<Get> auto& m) {
  v.Field(1, m.target);
  v.Bounded(2, m.key, kMaxKeyLen);
  v.Field(3, m.immediate);
  v.Field(4, m.refresh);
  v.Field(5, m.timeout_ms);
}

// kPublish.
struct Publish {
  // The data and the directives as passed by the caller, in codec form.
  std::string_view info;
};

template <typename V>
void Describe(V& v, wire::Is<Publish> auto& m) {
  v.Field(1, m.info);
}

// kLookup and kUnpublish. The payload of the reply to a lookup is in codec
// form: SIZE n, then n PDATA, the values found.
struct Keys {
  // Empty in kUnpublish: all keys that the caller has published.
  std::vector<std::string_view> keys;
  std::string_view info;  // the directives, in codec form
};

template <typename V>
void Describe(V& v, wire::Is<Keys> auto& m) {
  v.Bounded(1, m.keys, kMaxKeys);
  v.Field(2, m.info);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_DATA_H_
