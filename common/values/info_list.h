// A list of key-value pairs with directives, laid out as the C interface's
// pmix_info_t array, so it can be handed to C code without conversion.
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

  // Deep copy of `count` infos; null is empty. An info that cannot be copied
  // keeps its key and has an empty value. The end-of-array mark is dropped.
  static InfoList FromC(const pmix_info_t* infos, size_t count);

  // Keys longer than kMaxKeyLen are cut. `flags` are PMIX_INFO_* directives.
  void Add(std::string_view key, Value value, pmix_info_directives_t flags = 0);
  // Deep copies.
  void Append(const pmix_info_t& info);
  void Append(const InfoList& other);
  // Takes over what *info holds and leaves it empty.
  void Adopt(pmix_info_t* info);
  // Replaces the value of the first info of that key, or adds it.
  void Set(std::string_view key, Value value);
  // True when an info of that key was there; all of them go.
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

  // The first info of that key, or null.
  const pmix_info_t* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The value of the first info of that key, when it reads as such.
  std::optional<bool> FindBool(std::string_view key) const;
  std::optional<uint64_t> FindUint(std::string_view key) const;
  std::optional<int64_t> FindInt(std::string_view key) const;
  std::optional<std::string> FindString(std::string_view key) const;
  std::optional<ProcId> FindProc(std::string_view key) const;

  // Moves the infos into a malloc array that the caller owns (free with
  // FreeInfos); the list becomes empty. Null when it was empty, or without
  // memory (then *count is 0 too and the infos are gone).
  pmix_info_t* Release(size_t* count);

  bool operator==(const InfoList& other) const;

 private:
  std::vector<pmix_info_t> infos_;
};

// The key of an info as text.
std::string_view KeyOf(const pmix_info_t& info);

// The first info of `key`, or null.
const pmix_info_t* FindInfo(std::span<const pmix_info_t> infos,
                            std::string_view key);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_INFO_LIST_H_
