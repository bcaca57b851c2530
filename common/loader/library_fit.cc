#include "common/loader/library_fit.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/describe.h"

namespace canopy::loader {
namespace {

constexpr std::string_view kLibraryName = "libpmix.so.2";
constexpr std::string_view kCLibrary = "libc.so.6";
// Number of symbols that a message names; the rest is counted.
constexpr size_t kNamedSymbols = 3;

// A symbol that the program has with its own libpmix and would lose with
// Canopy's.
struct GoneSymbol {
  // The library itself defines the symbol, and not another library that is
  // loaded because of it.
  bool from_own = false;
  bool in_ours = false;
  bool wanted = false;
};

// A required symbol and the name of the object that requires it.
struct WantedSymbol {
  std::string name;
  std::string by;
};

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string NameOf(const LoadedObject& object) {
  return object.file->soname().empty() ? BaseName(object.path)
                                       : object.file->soname();
}

bool ComesAfter(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view* text) {
    uint64_t n = 0;
    while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
      n = n * 10 + static_cast<uint64_t>(text->front() - '0');
      text->remove_prefix(1);
    }
    return n;
  };
  const auto next = [&](std::string_view* text) -> uint64_t {
    const size_t digit = text->find_first_of("0123456789");
    text->remove_prefix(std::min(digit, text->size()));
    return number(text);
  };
  while (!a.empty() || !b.empty()) {
    const uint64_t x = next(&a);
    const uint64_t y = next(&b);
    if (x != y) return x > y;
  }
  return false;
}

// Returns the newest of versions such as GLIBC_2.34.
std::string Newest(const std::vector<std::string>& versions) {
  std::string newest;
  for (const std::string& version : versions) {
    if (!version.starts_with("GLIBC_2")) continue;
    if (newest.empty() || ComesAfter(version, newest)) newest = version;
  }
  return newest;
}

// Computes the finding for one program: compares the files that are loaded with
// its own libpmix and with Canopy's.
class Inquiry {
 public:
  explicit Inquiry(const LibraryQuestion& question)
      : question_(question), resolver_(question.cwd) {}

  LibraryFinding Answer() {
    resolver_.Note(question_.library);
    finding_.fit = Decide();
    Detail("finding", Conclusion());
    finding_.evidence.assign(resolver_.evidence().begin(),
                             resolver_.evidence().end());
    return std::move(finding_);
  }

 private:
  void Detail(std::string what, std::string found) {
    finding_.details.emplace_back(std::move(what), std::move(found));
  }

  LibraryFit Unknown(const std::string& why) {
    Detail("program", why);
    return LibraryFit::kUnknown;
  }

  // Concludes that the program must use its own library, because of `why`.
  LibraryFit Own(LibraryFit fit, const std::string& why) {
    why_ = why;
    if (linked_) {
      finding_.reason =
          question_.program + " runs with " +
          (own_ == nullptr ? "its own PMIx library" : own_->path) + ": " + why;
    }
    return fit;
  }

  LibraryFit Decide() {
    Result<LinkClosure> injected =
        resolver_.Resolve(question_.program, question_.injected);
    if (!injected.ok()) {
      return Unknown(question_.program + ": " +
                     (injected.code() == kErrNotFound
                          ? "not an ELF file (a script?)"
                          : injected.status().message()));
    }
    injected_ = std::move(*injected);
    const ElfFile& program = *injected_.objects[0].file;
    Detail("program", question_.program + ", " +
                          std::to_string(program.bits()) + " bits" +
                          (program.interpreter().empty()
                               ? ""
                               : ", loaded by " + program.interpreter()));
    if (!program.dynamic() || program.interpreter().empty()) {
      return LibraryFit::kStatic;
    }
    Result<LinkClosure> own =
        resolver_.Resolve(question_.program, question_.own);
    if (own.ok()) own_closure_ = std::move(*own);
    own_ = own_closure_.Find(kLibraryName);
    linked_ = own_ != nullptr || injected_.Find(kLibraryName) != nullptr;
    Detail("its own library",
           own_ != nullptr
               ? own_->path + ", needed by " + NeedersOf(own_closure_, *own_)
           : linked_ ? "none is found"
                     : "not linked with libpmix.so.2; libraries that it "
                       "opens while it runs are not known");
    return DecideOurs(program);
  }

  LibraryFit DecideOurs(const ElfFile& program) {
    const Result<ElfFile> library = ElfFile::Open(question_.library);
    if (!library.ok()) return Unknown(library.status().message());
    Detail("Canopy's library", question_.library);
    if (auto why = WhyNotLoaded(program, *library)) {
      return Own(LibraryFit::kCannotLoad, *why);
    }
    const LoadedObject* const chosen = injected_.Find(kLibraryName);
    if (chosen == nullptr) return LibraryFit::kNotLinked;
    if (chosen->file->stamp() != library->stamp()) {
      return LibraryFit::kOwnPlace;
    }
    return own_ == nullptr ? LibraryFit::kFits : CompareSymbols(*library);
  }

  // Returns the reason why Canopy's library cannot be loaded into the program,
  // or no value if it can.
  std::optional<std::string> WhyNotLoaded(const ElfFile& program,
                                          const ElfFile& library) {
    if (program.bits() != library.bits() ||
        program.machine() != library.machine()) {
      return "Canopy's libpmix has " + std::to_string(library.bits()) +
             " bits, the program has " + std::to_string(program.bits()) +
             (program.bits() == library.bits() ? " for another CPU type" : "");
    }
    if (IsMuslLoader(program.interpreter())) {
      Detail("C library", "musl");  // musl ignores the versions of symbols
      return std::nullopt;
    }
    const LoadedObject* const libc = own_closure_.Find(kCLibrary);
    if (libc == nullptr) return std::nullopt;
    Detail("C library", libc->path + ", " + Newest(libc->file->versions()));
    for (const VersionNeed& need : library.version_needs()) {
      const LoadedObject* const object = own_closure_.Find(need.library);
      if (object == nullptr) continue;
      if (auto why = WhyTooOld(need, *object)) return why;
    }
    return std::nullopt;
  }

  static std::optional<std::string> WhyTooOld(const VersionNeed& need,
                                              const LoadedObject& object) {
    const std::vector<std::string>& there = object.file->versions();
    std::vector<std::string> absent;
    for (const std::string& version : need.versions) {
      if (std::ranges::count(there, version) == 0) absent.push_back(version);
    }
    if (absent.empty()) return std::nullopt;
    const std::string newest = Newest(there);
    const std::string wanted = Newest(absent);
    return "Canopy's libpmix needs " +
           (wanted.empty() ? absent.front() : wanted) + ", " + object.path +
           (newest.empty() ? " lacks it" : " has only " + newest);
  }

  // Checks whether Canopy's library has the symbols that objects require and
  // that are lost if it replaces the program's own libpmix.
  LibraryFit CompareSymbols(const ElfFile& library) {
    const Result<SymbolNames> ours = library.ReadSymbols();
    if (!ours.ok()) return Unknown(ours.status().message());
    Collect();
    if (trouble_) return LibraryFit::kUnknown;
    for (const std::string_view name : ours->defined) {
      const auto it = gone_.find(name);
      if (it != gone_.end()) it->second.in_ours = true;
    }
    size_t from_own = 0;
    std::vector<WantedSymbol> missing = Missing(&from_own);
    RemoveDefined(&missing);
    Detail("symbols from it",
           std::to_string(from_own) +
               (missing.empty() ? ", Canopy's has all" : ""));
    if (missing.empty()) return LibraryFit::kFits;
    for (const WantedSymbol& symbol : missing) {
      Detail("missing", symbol.name + ", needed by " + symbol.by);
    }
    return Own(LibraryFit::kLacksSymbols, Describe(missing));
  }

  static std::string Describe(const std::vector<WantedSymbol>& missing) {
    std::string text = missing.front().by + " needs ";
    const size_t named = std::min(missing.size(), kNamedSymbols);
    for (size_t i = 0; i < named; ++i) {
      text += (i == 0 ? "" : ", ") + missing[i].name;
    }
    if (missing.size() > named) {
      text += " and " + std::to_string(missing.size() - named) + " more";
    }
    return text + ", which Canopy's libpmix lacks";
  }

  const SymbolNames* SymbolsOf(const LoadedObject& object) {
    const ElfFile* const file = object.file.get();
    const auto known = symbols_.find(file);
    if (known != symbols_.end()) return &known->second;
    Result<SymbolNames> names = file->ReadSymbols();
    if (!names.ok()) {
      trouble_ = true;
      Detail("damaged", object.path + ": " + names.status().message());
      return nullptr;
    }
    return &symbols_.emplace(file, std::move(*names)).first->second;
  }

  static bool Has(const LinkClosure& closure, const LoadedObject& object) {
    return std::ranges::any_of(closure.objects, [&](const LoadedObject& o) {
      return o.file == object.file;
    });
  }

  // Collects the symbols that would be lost with the program's own library.
  void Collect() {
    for (const LoadedObject& object : own_closure_.objects) {
      if (Has(injected_, object)) continue;
      const SymbolNames* const names = SymbolsOf(object);
      if (names == nullptr) return;
      for (const std::string_view name : names->defined) {
        gone_[name].from_own |= &object == own_;
      }
    }
  }

  // Returns the lost symbols that objects require and that Canopy's library
  // lacks, each once. Sets `*from_own` to the number of required symbols that
  // the program's own library defines, whether or not Canopy's has them.
  std::vector<WantedSymbol> Missing(size_t* from_own) {
    std::vector<WantedSymbol> out;
    for (const LoadedObject& object : injected_.objects) {
      if (!Has(own_closure_, object) || gone_.empty()) continue;
      const SymbolNames* const symbols = SymbolsOf(object);
      if (symbols == nullptr) return {};
      for (const std::string_view name : symbols->wanted) {
        const auto it = gone_.find(name);
        if (it == gone_.end() || std::exchange(it->second.wanted, true)) {
          continue;
        }
        *from_own += it->second.from_own ? 1 : 0;
        if (!it->second.in_ours) {
          out.push_back({std::string(name), NameOf(object)});
        }
      }
    }
    return out;
  }

  void RemoveDefined(std::vector<WantedSymbol>* missing) {
    for (const LoadedObject& object : injected_.objects) {
      if (missing->empty()) return;
      const SymbolNames* const symbols = SymbolsOf(object);
      if (symbols == nullptr) return;
      std::erase_if(*missing, [&](const WantedSymbol& symbol) {
        return std::ranges::count(symbols->defined, symbol.name) > 0;
      });
    }
  }

  static std::string NeedersOf(const LinkClosure& closure,
                               const LoadedObject& library) {
    std::string text;
    for (const LoadedObject& object : closure.objects) {
      if (std::ranges::count(object.file->needed(), library.name) == 0) {
        continue;
      }
      text += (text.empty() ? "" : ", ") + NameOf(object);
    }
    return text;
  }

  std::string Conclusion() const {
    switch (finding_.fit) {
      case LibraryFit::kUnknown:
        return "not known, because the file could not be read completely; "
               "Canopy's library is the first in its search path";
      case LibraryFit::kStatic:
        return "linked statically: it loads no library";
      case LibraryFit::kNotLinked:
        return "if it opens a libpmix while it runs, it gets Canopy's, which "
               "is the first in its search path";
      case LibraryFit::kOwnPlace:
        return "its rpath names its own library, which it gets unless the job "
               "has --inject always";
      case LibraryFit::kFits:
        return "runs with Canopy's library";
      case LibraryFit::kLacksSymbols:
      case LibraryFit::kCannotLoad:
        return "runs with its own library: " + why_;
    }
    return "";
  }

  const LibraryQuestion& question_;
  LinkResolver resolver_;
  LibraryFinding finding_;
  LinkClosure injected_;
  LinkClosure own_closure_;
  const LoadedObject* own_ = nullptr;  // the program's libpmix in own_closure_
  bool linked_ = false;                // linked with any libpmix
  bool trouble_ = false;
  std::string why_;
  std::unordered_map<const ElfFile*, SymbolNames> symbols_;
  std::unordered_map<std::string_view, GoneSymbol> gone_;
};

}  // namespace

LibraryFinding FindLibraryFit(const LibraryQuestion& question) {
  return Inquiry(question).Answer();
}

bool IsCurrent(const LibraryFinding& finding) {
  return !finding.evidence.empty() &&
         std::ranges::all_of(finding.evidence, [](const auto& item) {
           return StampOf(item.first) == item.second;
         });
}

namespace {

struct Detail {
  std::string what;
  std::string found;
};

template <typename V>
void Describe(V& v, wire::Is<Detail> auto& m) {
  v.Field(1, m.what);
  v.Field(2, m.found);
}

struct Evidence {
  std::string path;
  FileStamp stamp;
};

template <typename V>
void Describe(V& v, wire::Is<Evidence> auto& m) {
  v.Field(1, m.path);
  v.Field(2, m.stamp.device);
  v.Field(3, m.stamp.inode);
  v.Field(4, m.stamp.changed_ns);
}

struct EncodedFinding {
  LibraryFit fit = LibraryFit::kUnknown;
  std::string reason;
  std::vector<Detail> details;
  std::vector<Evidence> evidence;
};

template <typename V>
void Describe(V& v, wire::Is<EncodedFinding> auto& m) {
  v.Choice(1, m.fit, LibraryFit::kCannotLoad);
  v.Field(2, m.reason);
  v.Field(3, m.details);
  v.Field(4, m.evidence);
}

}  // namespace

std::string EncodeFinding(const LibraryFinding& finding) {
  EncodedFinding encoded{finding.fit, finding.reason, {}, {}};
  for (const auto& [what, found] : finding.details) {
    encoded.details.push_back({what, found});
  }
  for (const auto& [path, stamp] : finding.evidence) {
    encoded.evidence.push_back({path, stamp});
  }
  return wire::Encode(encoded);
}

bool DecodeFinding(std::string_view in, LibraryFinding* finding) {
  EncodedFinding encoded;
  if (in.empty() || !wire::Decode(in, &encoded)) return false;
  *finding = {};
  finding->fit = encoded.fit;
  finding->reason = std::move(encoded.reason);
  for (auto& [what, found] : encoded.details) {
    finding->details.emplace_back(std::move(what), std::move(found));
  }
  for (auto& [path, stamp] : encoded.evidence) {
    finding->evidence.emplace_back(std::move(path), stamp);
  }
  return true;
}

}  // namespace canopy::loader
