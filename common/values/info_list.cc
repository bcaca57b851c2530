#include "common/values/info_list.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

void StoreKey(pmix_info_t* info, std::string_view key) {
  StoreName(info->key, sizeof(info->key), key);
}

}  // namespace

InfoList::InfoList(std::initializer_list<KeyValue> pairs) {
  infos_.reserve(pairs.size());
  for (const KeyValue& pair : pairs) Add(pair.key, pair.value);
}

InfoList::InfoList(const InfoList& other) { Append(other); }

InfoList& InfoList::operator=(const InfoList& other) {
  if (this != &other) *this = InfoList(other);
  return *this;
}

InfoList& InfoList::operator=(InfoList&& other) noexcept {
  if (this != &other) {
    Clear();
    infos_ = std::exchange(other.infos_, {});
  }
  return *this;
}

InfoList::~InfoList() { Clear(); }

InfoList InfoList::FromC(const pmix_info_t* infos, size_t count) {
  InfoList list;
  if (infos == nullptr) return list;
  list.infos_.reserve(count);
  for (size_t i = 0; i < count; ++i) list.Append(infos[i]);
  return list;
}

void InfoList::Add(std::string_view key, Value value,
                   pmix_info_directives_t flags) {
  pmix_info_t info = {};
  StoreKey(&info, key);
  info.flags = flags;
  info.value = value.Release();
  infos_.push_back(info);
}

void InfoList::Append(const pmix_info_t& info) {
  pmix_info_t copy;
  if (CopyInfo(&copy, info) != kSuccess) {
    copy = {};
    StoreKey(&copy, KeyOf(info));
  }
  copy.flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_ARRAY_END);
  infos_.push_back(copy);
}

void InfoList::Append(const InfoList& other) {
  // The loop uses indexes and reserves room first because `other` may be this
  // list.
  const size_t count = other.size();
  infos_.reserve(infos_.size() + count);
  for (size_t i = 0; i < count; ++i) Append(other.infos_[i]);
}

void InfoList::Adopt(pmix_info_t* info) {
  infos_.push_back(*info);
  infos_.back().flags &=
      ~static_cast<pmix_info_directives_t>(PMIX_INFO_ARRAY_END);
  *info = {};
}

void InfoList::Set(std::string_view key, Value value) {
  for (pmix_info_t& info : infos_) {
    if (KeyOf(info) != key) continue;
    pmix_value_t old = std::exchange(info.value, value.Release());
    if ((info.flags & PMIX_INFO_PERSISTENT) == 0) DestructValue(&old);
    info.flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_PERSISTENT);
    return;
  }
  Add(key, std::move(value));
}

bool InfoList::Remove(std::string_view key) {
  const size_t before = infos_.size();
  size_t kept = 0;
  for (size_t i = 0; i < before; ++i) {
    if (KeyOf(infos_[i]) == key) {
      DestructInfo(&infos_[i]);
    } else {
      infos_[kept++] = infos_[i];
    }
  }
  infos_.resize(kept);
  return kept != before;
}

void InfoList::Clear() {
  for (pmix_info_t& info : infos_) DestructInfo(&info);
  infos_.clear();
}

const pmix_info_t* InfoList::Find(std::string_view key) const {
  return FindInfo(span(), key);
}

std::optional<bool> InfoList::FindBool(std::string_view key) const {
  const pmix_info_t* info = Find(key);
  return info == nullptr ? std::nullopt : BoolOf(info->value);
}

std::optional<uint64_t> InfoList::FindUint(std::string_view key) const {
  const pmix_info_t* info = Find(key);
  return info == nullptr ? std::nullopt : Uint64Of(info->value);
}

std::optional<int64_t> InfoList::FindInt(std::string_view key) const {
  const pmix_info_t* info = Find(key);
  return info == nullptr ? std::nullopt : Int64Of(info->value);
}

std::optional<std::string> InfoList::FindString(std::string_view key) const {
  const pmix_info_t* info = Find(key);
  if (info == nullptr) return std::nullopt;
  const auto text = StringOf(info->value);
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<ProcId> InfoList::FindProc(std::string_view key) const {
  const pmix_info_t* info = Find(key);
  return info == nullptr ? std::nullopt : ProcOf(info->value);
}

pmix_info_t* InfoList::Release(size_t* count) {
  pmix_info_t* infos = NewInfos(infos_.size());
  *count = infos == nullptr ? 0 : infos_.size();
  if (infos == nullptr) {
    Clear();
    return nullptr;
  }
  memcpy(infos, infos_.data(), infos_.size() * sizeof(pmix_info_t));
  infos[*count - 1].flags |= PMIX_INFO_ARRAY_END;
  infos_.clear();
  return infos;
}

bool InfoList::operator==(const InfoList& other) const {
  const TypeInfo& type = *FindType(PMIX_INFO);
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [&type](const pmix_info_t& a, const pmix_info_t& b) {
                      return CompareElements(type, &a, &b) == PMIX_EQUAL;
                    });
}

std::string_view KeyOf(const pmix_info_t& info) {
  return LoadName(info.key, sizeof(info.key));
}

const pmix_info_t* FindInfo(std::span<const pmix_info_t> infos,
                            std::string_view key) {
  for (const pmix_info_t& info : infos) {
    if (KeyOf(info) == key) return &info;
  }
  return nullptr;
}

}  // namespace canopy
