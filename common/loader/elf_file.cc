#include "common/loader/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace canopy::loader {
namespace {

constexpr size_t kMaxSegments = 256;
constexpr size_t kMaxDynamicEntries = 8192;
constexpr uint64_t kMaxStrings = 64u << 20;
constexpr uint64_t kMaxSymbols = 4u << 20;
constexpr uint64_t kMaxBuckets = 4u << 20;
constexpr size_t kMaxPath = 4096;
// The limit for the length of a symbol's name. Longer names are not names of
// PMIx, and searching for their end takes time.
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxVersions = 4096;
constexpr size_t kChainBlock = 1024;

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Dynamic = Elf32_Dyn;
  using Symbol = Elf32_Sym;
  using Word = uint32_t;
};

struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Dynamic = Elf64_Dyn;
  using Symbol = Elf64_Sym;
  using Word = uint64_t;
};

Status Damaged(const std::string& what) {
  return Status(kErrUnpackFailure, "malformed ELF file: " + what);
}

// The bytes of an open file of known size.
struct FileBytes {
  int fd;
  uint64_t size;

  bool Holds(uint64_t offset, uint64_t length) const {
    return offset <= size && length <= size - offset;
  }

  bool Read(uint64_t offset, void* to, size_t length) const {
    if (!Holds(offset, length)) return false;
    char* next = static_cast<char*>(to);
    while (length > 0) {
      const ssize_t n = pread(fd, next, length, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      next += n;
      offset += static_cast<uint64_t>(n);
      length -= static_cast<size_t>(n);
    }
    return true;
  }
};

FileStamp StampFrom(const struct stat& info) {
  return {info.st_dev, info.st_ino,
          info.st_ctim.tv_sec * int64_t{1000000000} + info.st_ctim.tv_nsec};
}

// Returns the text at `offset`. Returns no value if the text does not end
// within `strings` and kMaxName bytes.
std::optional<std::string_view> TextAt(std::string_view strings,
                                       uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  const std::string_view rest = strings.substr(offset, kMaxName);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

// Returns the bytes from `address` to the end of the smallest data object in a
// symbol table that contains the address.
template <typename Elf>
std::optional<uint64_t> FindObjectIn(FileBytes bytes,
                                     const typename Elf::Section& table,
                                     uint64_t address) {
  using Symbol = typename Elf::Symbol;
  const uint64_t count = table.sh_size / sizeof(Symbol);
  std::optional<uint64_t> found;
  if (table.sh_entsize != sizeof(Symbol) || count > kMaxSymbols ||
      !bytes.Holds(table.sh_offset, table.sh_size)) {
    return found;
  }
  std::vector<Symbol> symbols(count);
  if (!bytes.Read(table.sh_offset, symbols.data(), count * sizeof(Symbol))) {
    return found;
  }
  for (const Symbol& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const uint64_t offset = address - symbol.st_value;
    if (address < symbol.st_value || offset >= symbol.st_size) continue;
    const uint64_t left = symbol.st_size - offset;
    found = std::min(found.value_or(left), left);
  }
  return found;
}

// Searches the symbol tables of a file of class `Elf` in their order.
template <typename Elf>
std::optional<uint64_t> FindObject(FileBytes bytes, uint64_t address) {
  using Section = typename Elf::Section;
  typename Elf::Header header;
  if (!bytes.Read(0, &header, sizeof header) ||
      header.e_shentsize != sizeof(Section)) {
    return std::nullopt;
  }
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Section table;
    const uint64_t at = header.e_shoff + uint64_t{i} * sizeof table;
    if (!bytes.Read(at, &table, sizeof table)) break;
    if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
    const auto found = FindObjectIn<Elf>(bytes, table, address);
    if (found) return found;
  }
  return std::nullopt;
}

// Reads the symbols of a file of class `Elf`.
template <typename Elf>
class SymbolReader {
 public:
  SymbolReader(FileBytes bytes, const ElfFile::SymbolTable& table)
      : bytes_(bytes), table_(table) {}

  Result<SymbolNames> Read() const {
    SymbolNames names;
    if (table_.symbols == 0 || table_.strings == 0) return names;
    const std::optional<uint64_t> count = CountSymbols();
    if (!count || *count > kMaxSymbols ||
        !bytes_.Holds(table_.symbols, *count * sizeof(typename Elf::Symbol))) {
      return Damaged("symbol table");
    }
    std::vector<typename Elf::Symbol> symbols(*count);
    names.text.resize(table_.strings_size);
    if (!bytes_.Read(table_.symbols, symbols.data(),
                     symbols.size() * sizeof(typename Elf::Symbol)) ||
        !bytes_.Read(table_.strings, names.text.data(), names.text.size())) {
      return Damaged("symbol table");
    }
    for (const auto& symbol : symbols) Add(symbol, &names);
    return names;
  }

 private:
  // Returns the number of symbols. Only the hash tables contain it; the dynamic
  // segment does not.
  std::optional<uint64_t> CountSymbols() const {
    if (table_.hash != 0) {
      // The table begins with the number of buckets and the number of chains;
      // there is one chain word per symbol.
      uint32_t counts[2];
      if (!bytes_.Read(table_.hash, counts, sizeof counts)) return std::nullopt;
      return counts[1];
    }
    return table_.gnu_hash == 0 ? std::optional<uint64_t>(0) : CountGnuHash();
  }

  std::optional<uint64_t> CountGnuHash() const {
    struct {
      uint32_t buckets, first_symbol, bloom_words, bloom_shift;
    } header;
    uint64_t at = table_.gnu_hash;
    if (!bytes_.Read(at, &header, sizeof header) ||
        header.buckets > kMaxBuckets) {
      return std::nullopt;
    }
    at += sizeof header +
          uint64_t{header.bloom_words} * sizeof(typename Elf::Word);
    if (!bytes_.Holds(at, header.buckets * sizeof(uint32_t))) {
      return std::nullopt;
    }
    std::vector<uint32_t> buckets(header.buckets);
    if (!bytes_.Read(at, buckets.data(), buckets.size() * sizeof(uint32_t))) {
      return std::nullopt;
    }
    const auto last = std::ranges::max_element(buckets);
    if (last == buckets.end() || *last < header.first_symbol) {
      return header.first_symbol;
    }
    at += buckets.size() * sizeof(uint32_t);
    return EndOfChain(at, header.first_symbol, *last);
  }

  // Chains have one word for each symbol; the last word of a chain is odd.
  std::optional<uint64_t> EndOfChain(uint64_t chains, uint64_t first,
                                     uint64_t symbol) const {
    std::vector<uint32_t> words;
    while (symbol < kMaxSymbols) {
      const uint64_t at = chains + (symbol - first) * sizeof(uint32_t);
      if (!bytes_.Holds(at, sizeof(uint32_t))) return std::nullopt;
      words.resize(std::min<uint64_t>(kChainBlock,
                                      (bytes_.size - at) / sizeof(uint32_t)));
      if (!bytes_.Read(at, words.data(), words.size() * sizeof(uint32_t))) {
        return std::nullopt;
      }
      const auto last = std::ranges::find_if(
          words, [](uint32_t word) { return (word & 1) != 0; });
      symbol += static_cast<uint64_t>(last - words.begin());
      if (last != words.end()) return symbol + 1;
    }
    return std::nullopt;
  }

  static void Add(const typename Elf::Symbol& symbol, SymbolNames* names) {
    const unsigned bind = ELF64_ST_BIND(symbol.st_info);
    if (bind == STB_LOCAL) return;
    const auto name =
        TextAt({names->text.data(), names->text.size()}, symbol.st_name);
    if (!name || name->empty()) return;
    if (symbol.st_shndx != SHN_UNDEF) {
      names->defined.push_back(*name);
    } else if (bind != STB_WEAK) {
      names->wanted.push_back(*name);
    }
  }

  const FileBytes bytes_;
  const ElfFile::SymbolTable& table_;
};

}  // namespace

// Reads all parts of a file of class `Elf` except the symbols.
template <typename Elf>
class HeaderReader {
 public:
  explicit HeaderReader(ElfFile* file)
      : file_(*file), bytes_{file->fd_.get(), file->size_} {}

  Status Read() {
    typename Elf::Header header;
    if (!bytes_.Read(0, &header, sizeof header)) return Damaged("no header");
    file_.machine_ = header.e_machine;
    if (header.e_phentsize != sizeof(typename Elf::Segment) ||
        header.e_phnum > kMaxSegments) {
      return Damaged("segments");
    }
    segments_.resize(header.e_phnum);
    if (!bytes_.Read(header.e_phoff, segments_.data(),
                     segments_.size() * sizeof(typename Elf::Segment))) {
      return Damaged("segments");
    }
    for (const auto& segment : segments_) {
      Status status;
      if (segment.p_type == PT_INTERP) status = ReadInterpreter(segment);
      if (segment.p_type == PT_DYNAMIC) status = ReadDynamic(segment);
      if (!status.ok()) return status;
    }
    return file_.dynamic_ ? ReadReferences() : Status();
  }

 private:
  Status ReadInterpreter(const typename Elf::Segment& segment) {
    if (segment.p_filesz == 0 || segment.p_filesz > kMaxPath) {
      return Damaged("interpreter");
    }
    std::string text(segment.p_filesz, '\0');
    if (!bytes_.Read(segment.p_offset, text.data(), text.size())) {
      return Damaged("interpreter");
    }
    file_.interpreter_ = text.substr(0, text.find('\0'));
    return Status();
  }

  Status ReadDynamic(const typename Elf::Segment& segment) {
    const size_t count = segment.p_filesz / sizeof(typename Elf::Dynamic);
    if (count > kMaxDynamicEntries) return Damaged("dynamic section");
    entries_.resize(count);
    if (!bytes_.Read(segment.p_offset, entries_.data(),
                     count * sizeof(typename Elf::Dynamic))) {
      return Damaged("dynamic section");
    }
    const auto end = std::ranges::find_if(
        entries_, [](const auto& entry) { return entry.d_tag == DT_NULL; });
    entries_.erase(end, entries_.end());
    file_.dynamic_ = true;
    return Status();
  }

  // Returns the value of the last entry with this tag; 0 if there is none.
  uint64_t Value(int64_t tag) const {
    uint64_t value = 0;
    for (const auto& entry : entries_) {
      if (entry.d_tag == tag) value = entry.d_un.d_val;
    }
    return value;
  }

  // Returns the file offset of the byte that is loaded at `address`; 0 if no
  // byte is.
  uint64_t OffsetOf(uint64_t address) const {
    if (address == 0) return 0;
    for (const auto& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
          address - segment.p_vaddr >= segment.p_filesz) {
        continue;
      }
      return segment.p_offset + (address - segment.p_vaddr);
    }
    return 0;
  }

  Status ReadReferences() {
    auto& table = file_.table_;
    table.strings = OffsetOf(Value(DT_STRTAB));
    table.strings_size = Value(DT_STRSZ);
    table.symbols = OffsetOf(Value(DT_SYMTAB));
    table.hash = OffsetOf(Value(DT_HASH));
    table.gnu_hash = OffsetOf(Value(DT_GNU_HASH));
    file_.no_default_directories_ = (Value(DT_FLAGS_1) & DF_1_NODEFLIB) != 0;
    if (table.strings == 0) return Status();
    if (table.strings_size > kMaxStrings ||
        !bytes_.Holds(table.strings, table.strings_size)) {
      return Damaged("string table");
    }
    strings_.resize(table.strings_size);
    if (!bytes_.Read(table.strings, strings_.data(), strings_.size())) {
      return Damaged("string table");
    }
    Status status = ReadNames();
    if (status.ok()) status = ReadVersionNeeds();
    return status.ok() ? ReadVersions() : status;
  }

  Status ReadNames() {
    for (const auto& entry : entries_) {
      std::string* const one = entry.d_tag == DT_SONAME    ? &file_.soname_
                               : entry.d_tag == DT_RPATH   ? &file_.rpath_
                               : entry.d_tag == DT_RUNPATH ? &file_.runpath_
                                                           : nullptr;
      if (one == nullptr && entry.d_tag != DT_NEEDED) continue;
      const auto text = TextAt(strings_, entry.d_un.d_val);
      if (!text) return Damaged("names");
      if (one != nullptr) {
        *one = *text;
      } else {
        file_.needed_.emplace_back(*text);
      }
    }
    if (!file_.runpath_.empty()) file_.rpath_.clear();
    return Status();
  }

  // Reads the needed versions. The records of a version section form a chain of
  // offsets that lead only forward, so the chain ends.
  Status ReadVersionNeeds() {
    uint64_t at = OffsetOf(Value(DT_VERNEED));
    uint64_t left = std::min<uint64_t>(Value(DT_VERNEEDNUM), kMaxVersions);
    for (; at != 0 && left > 0; --left) {
      Elf64_Verneed record;  // the same in both classes
      if (!bytes_.Read(at, &record, sizeof record)) {
        return Damaged("version needs");
      }
      VersionNeed need;
      const auto library = TextAt(strings_, record.vn_file);
      if (!library) return Damaged("version needs");
      need.library = *library;
      if (!ReadNeededVersions(at + record.vn_aux, record.vn_cnt, &need)) {
        return Damaged("version needs");
      }
      file_.version_needs_.push_back(std::move(need));
      at = record.vn_next == 0 ? 0 : at + record.vn_next;
    }
    return Status();
  }

  bool ReadNeededVersions(uint64_t at, uint64_t count, VersionNeed* need) {
    for (; count > 0; --count) {
      Elf64_Vernaux record;
      if (!bytes_.Read(at, &record, sizeof record)) return false;
      const auto name = TextAt(strings_, record.vna_name);
      if (!name || ++versions_read_ > kMaxVersions) return false;
      if ((record.vna_flags & VER_FLG_WEAK) == 0) {
        need->versions.emplace_back(*name);
      }
      if (record.vna_next == 0) break;
      at += record.vna_next;
    }
    return true;
  }

  Status ReadVersions() {
    uint64_t at = OffsetOf(Value(DT_VERDEF));
    uint64_t left = std::min<uint64_t>(Value(DT_VERDEFNUM), kMaxVersions);
    for (; at != 0 && left > 0; --left) {
      Elf64_Verdef record;
      Elf64_Verdaux name;  // the first one is the version's own name
      if (!bytes_.Read(at, &record, sizeof record) ||
          !bytes_.Read(at + record.vd_aux, &name, sizeof name)) {
        return Damaged("versions");
      }
      const auto text = TextAt(strings_, name.vda_name);
      if (!text) return Damaged("versions");
      if ((record.vd_flags & VER_FLG_BASE) == 0) {
        file_.versions_.emplace_back(*text);
      }
      at = record.vd_next == 0 ? 0 : at + record.vd_next;
    }
    return Status();
  }

  ElfFile& file_;
  const FileBytes bytes_;
  std::vector<typename Elf::Segment> segments_;
  std::vector<typename Elf::Dynamic> entries_;
  std::string strings_;
  size_t versions_read_ = 0;
};

FileStamp StampOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? StampFrom(info) : FileStamp();
}

Result<ElfFile> ElfFile::Open(const std::string& path) {
  ElfFile file;
  // O_NONBLOCK: the file may be a pipe, whose opening must not block.
  file.fd_.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_) {
    const bool full = errno == EMFILE || errno == ENFILE;
    return Status(full              ? kErrSysLimitsFiles
                  : errno == EACCES ? kErrNoPermissions
                                    : kErrNotFound,
                  path + ": " + strerror(errno));
  }
  struct stat info;
  unsigned char ident[EI_NIDENT];
  const bool regular =
      fstat(file.fd_.get(), &info) == 0 && S_ISREG(info.st_mode);
  file.size_ = regular ? static_cast<uint64_t>(info.st_size) : 0;
  const FileBytes bytes{file.fd_.get(), file.size_};
  if (!regular || !bytes.Read(0, ident, sizeof ident) ||
      std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return Status(kErrNotFound, path + ": not an ELF file");
  }
  file.stamp_ = StampFrom(info);
  constexpr unsigned char kOwnOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (ident[EI_DATA] != kOwnOrder) return file;
  file.bits_ = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  const Status status = file.bits_ == 64 ? HeaderReader<Elf64>(&file).Read()
                                         : HeaderReader<Elf32>(&file).Read();
  if (!status.ok()) return status;
  return file;
}

std::optional<uint64_t> ElfFile::BytesOfObjectAt(uint64_t address) const {
  const FileBytes bytes{fd_.get(), size_};
  return bits_ == 64 ? FindObject<Elf64>(bytes, address)
                     : FindObject<Elf32>(bytes, address);
}

Result<SymbolNames> ElfFile::ReadSymbols() const {
  const FileBytes bytes{fd_.get(), size_};
  return bits_ == 64 ? SymbolReader<Elf64>(bytes, table_).Read()
                     : SymbolReader<Elf32>(bytes, table_).Read();
}

}  // namespace canopy::loader
