// Collects the keys of one level of a segment.
#ifndef CANOPY_SERVER_DATASTORE_KEYS_H_
#define CANOPY_SERVER_DATASTORE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/shm/segment_writer.h"
#include "common/values/value.h"

namespace canopy::datastore {

class Keys {
 public:
  // Adds a key; a value that cannot be encoded is left out.
  void Add(const char* key, const Value& value) {
    std::string encoded = EncodeValue(value.raw());
    if (!encoded.empty()) keys_.emplace_back(key, std::move(encoded));
  }
  // Adds a text. An empty text is left out.
  void Text(const char* key, const std::string& text) {
    if (!text.empty()) Add(key, Value::String(text));
  }
  // Adds a UINT32.
  void Number(const char* key, size_t number) {
    Add(key, Value::Uint32(static_cast<uint32_t>(number)));
  }
  shm::KeyValues Take() { return std::move(keys_); }

 private:
  shm::KeyValues keys_;
};

// Adds the number and the names of the nodes that a level may use. Adds no keys
// if there are no nodes.
void AddAllocation(const std::vector<std::string>& nodes, Keys* keys);

// Adds the nodes on which a level has processes, and `ranks` on each of them.
void AddMaps(const std::vector<std::string>& nodes,
             const std::vector<std::vector<Rank>>& ranks, Keys* keys);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_KEYS_H_
