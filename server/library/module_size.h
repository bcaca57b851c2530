// How many entries the module of a host in C has, of which a pointer alone is
// given. Hosts are compiled with headers of many releases: 21 entries in those
// of release 2, 28 in those of 4.2, 32 in the newest.
#ifndef CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_
#define CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_

#include <cstddef>
#include <optional>

namespace canopy::library {

// The bytes from `object` to the end of the variable that has it, as the symbol
// tables of the program or library file say. No value: the object is no
// variable of static storage, or the file is stripped or cannot be read. Reads
// the file.
std::optional<size_t> BytesInSymbol(const void* object);

// How many of the first `most` words at `words` can be entries of a module:
// each is null or the address of code of this process, and lies in memory that
// can be read. Reads /proc/self/maps; without it, `fewest`.
size_t PlausibleEntries(const void* words, size_t fewest, size_t most);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_
