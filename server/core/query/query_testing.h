// Encodes queries as clients send them.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_TESTING_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"

namespace canopy::core {

struct TestQuery {
  std::vector<std::string> keys;
  InfoList qualifiers = {};
};

inline Bytes Encoded(const std::vector<TestQuery>& queries) {
  Encoder out;
  out.PutSize(queries.size());
  for (const TestQuery& query : queries) {
    out.PutInt32(static_cast<int32_t>(query.keys.size()));
    for (const std::string& key : query.keys) out.PutString(key);
    out.PutSize(query.qualifiers.size());
    for (const pmix_info_t& info : query.qualifiers) out.PutInfo(info);
  }
  return Bytes(out.Take());
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_TESTING_H_
