#include "common/loader/elf_builder.h"

#include <cstring>
#include <fstream>

namespace canopy::loader {
namespace {

template <int kBits>
struct Types {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
  using Symbol = Elf64_Sym;
  using Word = uint64_t;
};

template <>
struct Types<32> {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
  using Symbol = Elf32_Sym;
  using Word = uint32_t;
};

template <int kBits>
class Builder {
 public:
  using T = Types<kBits>;

  explicit Builder(const ElfSpec& spec) : spec_(spec) {
    strings_.push_back('\0');
    file_.resize(sizeof(typename T::Header) + 3 * sizeof(typename T::Segment));
  }

  std::string Build() {
    if (!spec_.interpreter.empty()) {
      const size_t at =
          Append(spec_.interpreter.c_str(), spec_.interpreter.size() + 1);
      AddSegment(PT_INTERP, at, spec_.interpreter.size() + 1);
    }
    if (spec_.dynamic) AddDynamic();
    AddSegment(PT_LOAD, 0, file_.size());
    AddHeader();
    return file_;
  }

 private:
  size_t Append(const void* data, size_t size) {
    file_.resize((file_.size() + 7) / 8 * 8);
    const size_t at = file_.size();
    file_.append(static_cast<const char*>(data), size);
    return at;
  }

  uint32_t Text(const std::string& text) {
    const size_t at = strings_.size();
    strings_ += text + '\0';
    return static_cast<uint32_t>(at);
  }

  void Entry(int64_t tag, uint64_t value) {
    typename T::Dynamic entry{};
    entry.d_tag = static_cast<decltype(entry.d_tag)>(tag);
    entry.d_un.d_val = static_cast<decltype(entry.d_un.d_val)>(value);
    entries_.push_back(entry);
  }

  void AddDynamic() {
    for (const std::string& name : spec_.needed) Entry(DT_NEEDED, Text(name));
    if (!spec_.soname.empty()) Entry(DT_SONAME, Text(spec_.soname));
    if (!spec_.rpath.empty()) Entry(DT_RPATH, Text(spec_.rpath));
    if (!spec_.runpath.empty()) Entry(DT_RUNPATH, Text(spec_.runpath));
    if (spec_.no_default_directories) Entry(DT_FLAGS_1, DF_1_NODEFLIB);
    AddSymbols();
    AddVersionNeeds();
    AddVersions();
    Entry(DT_STRTAB, Append(strings_.data(), strings_.size()));
    Entry(DT_STRSZ, strings_.size());
    Entry(DT_NULL, 0);
    const size_t size = entries_.size() * sizeof(typename T::Dynamic);
    AddSegment(PT_DYNAMIC, Append(entries_.data(), size), size);
  }

  void AddSymbols() {
    std::vector<typename T::Symbol> symbols(1);
    const auto add = [&](const std::string& name, unsigned bind,
                         uint16_t section) {
      typename T::Symbol symbol{};
      symbol.st_name = Text(name);
      symbol.st_info = ELF64_ST_INFO(bind, STT_FUNC);
      symbol.st_shndx = section;
      symbols.push_back(symbol);
    };
    for (const auto& name : spec_.wanted) add(name, STB_GLOBAL, SHN_UNDEF);
    for (const auto& name : spec_.weak) add(name, STB_WEAK, SHN_UNDEF);
    const auto first = static_cast<uint32_t>(symbols.size());
    for (const auto& name : spec_.defined) add(name, STB_GLOBAL, 1);
    Entry(DT_SYMTAB,
          Append(symbols.data(), symbols.size() * sizeof(typename T::Symbol)));
    AddHash(first, static_cast<uint32_t>(symbols.size()));
  }

  // Uses a single bucket.
  void AddHash(uint32_t first, uint32_t count) {
    std::vector<uint32_t> words;
    if (spec_.gnu_hash) {
      words = {1, first, 1, 0};
      words.insert(words.end(), sizeof(typename T::Word) / 4, 0);
      words.push_back(first < count ? first : 0);
      for (uint32_t i = first; i < count; ++i) words.push_back(i + 1 == count);
    } else {
      words = {1, count, 0};
      words.insert(words.end(), count, 0);
    }
    Entry(spec_.gnu_hash ? DT_GNU_HASH : DT_HASH,
          Append(words.data(), words.size() * 4));
  }

  void AddVersionNeeds() {
    if (spec_.version_needs.empty()) return;
    std::string section;
    for (size_t i = 0; i < spec_.version_needs.size(); ++i) {
      const VersionNeed& need = spec_.version_needs[i];
      Elf64_Verneed record{};
      record.vn_version = 1;
      record.vn_cnt = static_cast<uint16_t>(need.versions.size());
      record.vn_file = Text(need.library);
      record.vn_aux = sizeof record;
      const size_t size =
          sizeof record + need.versions.size() * sizeof(Elf64_Vernaux);
      const bool last = i + 1 == spec_.version_needs.size();
      record.vn_next = last ? 0 : static_cast<uint32_t>(size);
      section.append(reinterpret_cast<char*>(&record), sizeof record);
      for (size_t j = 0; j < need.versions.size(); ++j) {
        Elf64_Vernaux version{};
        version.vna_name = Text(need.versions[j]);
        version.vna_next =
            j + 1 == need.versions.size() ? 0 : sizeof(Elf64_Vernaux);
        section.append(reinterpret_cast<char*>(&version), sizeof version);
      }
    }
    Entry(DT_VERNEED, Append(section.data(), section.size()));
    Entry(DT_VERNEEDNUM, spec_.version_needs.size());
  }

  void AddVersions() {
    if (spec_.versions.empty()) return;
    std::string section;
    for (size_t i = 0; i < spec_.versions.size(); ++i) {
      Elf64_Verdef record{};
      Elf64_Verdaux name{};
      record.vd_version = 1;
      record.vd_cnt = 1;
      record.vd_aux = sizeof record;
      const bool last = i + 1 == spec_.versions.size();
      record.vd_next = last ? 0 : sizeof record + sizeof name;
      name.vda_name = Text(spec_.versions[i]);
      section.append(reinterpret_cast<char*>(&record), sizeof record);
      section.append(reinterpret_cast<char*>(&name), sizeof name);
    }
    Entry(DT_VERDEF, Append(section.data(), section.size()));
    Entry(DT_VERDEFNUM, spec_.versions.size());
  }

  void AddSegment(uint32_t type, size_t offset, size_t size) {
    typename T::Segment segment{};
    segment.p_type = type;
    segment.p_offset = static_cast<typename T::Word>(offset);
    segment.p_vaddr = segment.p_offset;
    segment.p_filesz = static_cast<typename T::Word>(size);
    segment.p_memsz = segment.p_filesz;
    std::memcpy(file_.data() + sizeof(typename T::Header) +
                    num_segments_++ * sizeof segment,
                &segment, sizeof segment);
  }

  void AddHeader() {
    typename T::Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = kBits == 64 ? ELFCLASS64 : ELFCLASS32;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = spec_.interpreter.empty() ? ET_DYN : ET_EXEC;
    header.e_machine = spec_.machine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(typename T::Segment);
    header.e_phnum = num_segments_;
    std::memcpy(file_.data(), &header, sizeof header);
  }

  const ElfSpec& spec_;
  std::string file_;
  std::string strings_;
  std::vector<typename T::Dynamic> entries_;
  uint16_t num_segments_ = 0;
};

}  // namespace

std::string BuildElf(const ElfSpec& spec) {
  return spec.bits == 64 ? Builder<64>(spec).Build()
                         : Builder<32>(spec).Build();
}

void WriteElf(const std::string& path, const ElfSpec& spec) {
  std::ofstream(path, std::ios::binary) << BuildElf(spec);
}

}  // namespace canopy::loader
