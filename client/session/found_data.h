// What a lookup found, as the agent sends it.
#ifndef CANOPY_CLIENT_SESSION_FOUND_DATA_H_
#define CANOPY_CLIENT_SESSION_FOUND_DATA_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "pmix.h"

namespace canopy::client {

// Owns the data. Not synchronised.
class FoundData {
 public:
  FoundData() = default;
  ~FoundData() { Clear(); }
  FoundData(const FoundData&) = delete;
  FoundData& operator=(const FoundData&) = delete;

  // Replaces the content by that of a reply to kLookup: SIZE n, n PDATA, where
  // n is at most `limit`; no bytes at all are no data. False, and no content,
  // when it is malformed.
  bool Decode(std::string_view payload, size_t limit);

  // The entry of that key, or null.
  const pmix_pdata_t* Find(std::string_view key) const;
  // As the C interface has them; null when there are none.
  pmix_pdata_t* data() { return data_.empty() ? nullptr : data_.data(); }
  size_t size() const { return data_.size(); }

 private:
  void Clear();

  std::vector<pmix_pdata_t> data_;
};

// The text of a key in a fixed array.
std::string_view KeyOfData(const pmix_pdata_t& data);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_FOUND_DATA_H_
