// A list of key-value pairs with directives, laid out as the C interface's
// pmix_info_t array, so it can be passed to C code without conversion.
#ifndef CANOPY_COMMON_VALUES_INFO_LIST_H_
#define CANOPY_COMMON_VALUES_INFO_LIST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/values/value.h"
#include "pmix_types.h"

namespace canopy {

// Owns its infos and their values. Movable and copyable; copies are deep. Not
// synchronised. Several infos may have the same key.
class InfoList {
 public:
  InfoList() = default;
  InfoList(std::initializer_list<KeyValue> pairs);
  InfoList(const InfoList& other);
  InfoList(InfoList&& other) noexcept = default;
  InfoList& operator=(const InfoList& other);
  InfoList& operator=(InfoList&& other) noexcept;
  ~InfoList();

  // Makes a deep copy of `count` infos; null gives an empty list. An info that
  // cannot be copied keeps its key and has an empty value. The end-of-array
  // mark is dropped.
  static InfoList FromC(const pmix_info_t* infos, size_t count);

  // Adds an info. A key longer than kMaxKeyLen is cut. `flags` are PMIX_INFO_*
  // directives.
  void Add(std::string_view key, Value value, pmix_info_directives_t flags = 0);
  // Append deep copies.
  void Append(const pmix_info_t& info);
  void Append(const InfoList& other);
  // Moves the content of *info into the list and leaves *info empty.
  void Adopt(pmix_info_t* info);
  // Replaces the value of the first info with this key, or adds an info.
  void Set(std::string_view key, Value value);
  // Removes all infos with this key. Returns true if there was one.
  bool Remove(std::string_view key);
  void Clear();

  size_t size() const { return infos_.size(); }
  bool empty() const { return infos_.empty(); }
  const pmix_info_t* data() const { return infos_.data(); }
  pmix_info_t* mutable_data() { return infos_.data(); }
  const pmix_info_t* begin() const { return infos_.data(); }
  const pmix_info_t* end() const { return infos_.data() + infos_.size(); }
  const pmix_info_t& operator[](size_t i) const { return infos_[i]; }
  std::span<const pmix_info_t> span() const { return {data(), size()}; }

  // Returns the first info with this key, or null.
  const pmix_info_t* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // Return the value of the first info with this key. Return no value if there
  // is no such info or its value does not convert to the type.
  std::optional<bool> FindBool(std::string_view key) const;
  std::optional<uint64_t> FindUint(std::string_view key) const;
  std::optional<int64_t> FindInt(std::string_view key) const;
  std::optional<std::string> FindString(std::string_view key) const;
  std::optional<ProcId> FindProc(std::string_view key) const;

  // Moves the infos into a malloc array that the caller owns and frees with
  // FreeInfos; the list becomes empty. Returns null and sets *count to 0 if the
  // list was empty, or if memory is exhausted; in the latter case the infos are
  // lost.
  pmix_info_t* Release(size_t* count);

  bool operator==(const InfoList& other) const;

 private:
  std::vector<pmix_info_t> infos_;
};

// Returns the key of an info as text.
std::string_view KeyOf(const pmix_info_t& info);

// Returns the first info with this key, or null.
const pmix_info_t* FindInfo(std::span<const pmix_info_t> infos,
                            std::string_view key);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_INFO_LIST_H_
