// The bytes that servers of different nodes exchange through their hosts: the
// committed data of processes. A host does not read the bytes, and concatenates
// the bytes of all nodes in any order.
#ifndef CANOPY_SERVER_LIBRARY_BLOB_H_
#define CANOPY_SERVER_LIBRARY_BLOB_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::library {

// Returns a blob of one node's records (ModexWriter). It is never empty, even
// if there are no records, because some hosts choose by its size how nodes
// exchange the blobs, and all nodes must make the same choice.
std::string MakeBlob(std::string_view records);

// Returns the part that follows the blob of one process: the keys that the
// process has put for its own node only.
std::string MakeOutside(const std::vector<std::string>& keys);

// Returns a blob that reports that a collective has failed on a node.
std::string MakeFailure(int status);

// Splits concatenated blobs into the records of each node, which refer to the
// memory of `joined` and keep it. `outside`, unless null, gets the keys of
// MakeOutside. Returns the status of MakeFailure if a node has failed, and
// kErrUnpackFailure if the bytes are not blobs that this version understands.
Result<std::vector<Bytes>> SplitBlobs(
    const Bytes& joined, std::vector<std::string>* outside = nullptr);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_BLOB_H_
