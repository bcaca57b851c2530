// The bytes that servers of different nodes exchange through their hosts: what
// processes have committed. A host does not read them. It joins those of all
// nodes in any order.
#ifndef CANOPY_SERVER_LIBRARY_BLOB_H_
#define CANOPY_SERVER_LIBRARY_BLOB_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::library {

// One node's records (ModexWriter) as a blob. It is never empty, also of no
// records: some hosts decide by its size how nodes exchange them, and have to
// decide the same on all.
std::string MakeBlob(std::string_view records);

// Behind the blob of one process: the keys that it has put for its own node
// alone.
std::string MakeOutside(const std::vector<std::string>& keys);

// In place of what a node would bring to a collective that has failed there.
std::string MakeFailure(int status);

// The records of each node, of blobs that were joined; the pieces share the
// owner of `joined`. `outside`, unless null, gets the keys of MakeOutside. The
// status of MakeFailure, where a node has failed. kErrUnpackFailure: they are
// no blobs of a server that this one understands.
Result<std::vector<Bytes>> SplitBlobs(
    const Bytes& joined, std::vector<std::string>* outside = nullptr);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_BLOB_H_
