// The results of a lookup, as the agent sends them.
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

  // Replaces the content by the content of a reply to kLookup: SIZE n, n PDATA,
  // where n is at most `limit`. An empty payload has no data. Returns false and
  // clears the content if the payload is malformed.
  bool Decode(std::string_view payload, size_t limit);

  // Returns the entry with that key, or null.
  const pmix_pdata_t* Find(std::string_view key) const;
  // Returns the data as an array for the C interface; null if there is none.
  pmix_pdata_t* data() { return data_.empty() ? nullptr : data_.data(); }
  size_t size() const { return data_.size(); }

 private:
  void Clear();

  std::vector<pmix_pdata_t> data_;
};

// Returns the key, which is in an array of fixed size.
std::string_view KeyOfData(const pmix_pdata_t& data);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_FOUND_DATA_H_
