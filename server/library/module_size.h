// Determines the number of entries of the module of a host in C, given only a
// pointer to it. Hosts are compiled with headers of many releases of OpenPMIx:
// 21 entries in release 2, 28 in 4.2, 32 in the newest.
#ifndef CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_
#define CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_

#include <cstddef>
#include <optional>

namespace canopy::library {

// Returns the number of bytes from `object` to the end of the C variable that
// contains it, according to the symbol table of the program or library file.
// Returns no value if the object is not in a C variable of static storage, or
// if the file is stripped or unreadable. Reads the file.
std::optional<size_t> BytesInSymbol(const void* object);

// Returns how many of the first `most` words at `words` can be entries of a
// module: each is null or the address of code of this process, and lies in
// readable memory. Reads /proc/self/maps; returns `fewest` if that fails.
size_t PlausibleEntries(const void* words, size_t fewest, size_t most);

// Copies `count` words, which must lie in readable memory. Replaces memcpy,
// because in a host with an address sanitizer the symbol table counts the
// sanitizer's padding behind a C variable as part of the variable, but the
// sanitizer would report a memcpy that reads the padding.
void CopyWords(const void* words, size_t count, void* to);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_MODULE_SIZE_H_
