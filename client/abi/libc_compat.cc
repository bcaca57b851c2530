#include "client/abi/libc_compat.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

namespace canopy::client {
namespace {

struct Search {
  std::uintptr_t pc;
  dl_find_object* result;
  bool found;
};

// Visits a loaded object and stops the iteration if it contains the address.
int VisitObject(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) table = begin;
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t limit = begin + header.p_memsz;
    if (begin < start) start = begin;
    if (limit > end) end = limit;
    if (search.pc >= begin && search.pc < limit) inside = true;
  }
  if (!inside) return 0;
  if (table != 0) {
    *search.result = {};
    search.result->dlfo_map_start = reinterpret_cast<void*>(start);
    search.result->dlfo_map_end = reinterpret_cast<void*>(end);
    search.result->dlfo_eh_frame = reinterpret_cast<void*>(table);
    search.found = true;
  }
  return 1;
}

}  // namespace

std::uint32_t RandomNumber() {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof(number)) != 0) std::abort();
  return number;
}

int FindObject(void* pc, dl_find_object* result) {
  Search search{reinterpret_cast<std::uintptr_t>(pc), result, false};
  dl_iterate_phdr(VisitObject, &search);
  return search.found ? 0 : -1;
}

}  // namespace canopy::client
