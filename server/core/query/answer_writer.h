// Collects the answers to a call of PMIx_Query_info: infos in codec form, one
// or more for each key.
#ifndef CANOPY_SERVER_CORE_QUERY_ANSWER_WRITER_H_
#define CANOPY_SERVER_CORE_QUERY_ANSWER_WRITER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::core {

// Maximum number of bytes of one answer; a larger one is rejected as a whole.
inline constexpr size_t kMaxAnswer = size_t{16} << 20;

// Counts the requested keys and the answered ones. Not synchronised.
class AnswerWriter {
 public:
  // Adds the answer to the next key. An empty `encoded` or `value` means that
  // the key has no answer.
  void Add(std::string_view key, std::string_view encoded);
  void Add(std::string_view key, const Value& value);
  // Counts the next key as one without an answer.
  void AddNothing() { ++asked_; }
  // Adds another answer to the key that was added last.
  void AddFurther(std::string_view key, const Value& value);

  bool full() const { return body_.size() > kMaxAnswer; }
  // Returns the PMIx status of the call: kSuccess if all keys have an answer,
  // kErrPartialSuccess if some have, kErrNotFound if no key has, and
  // kErrOutOfResource if the answer is too large.
  int status() const;
  // Returns the answer in codec form: SIZE n, then n INFO. Empty unless the
  // call succeeded at least partly.
  Bytes Take();

 private:
  void Put(std::string_view key, std::string_view encoded);

  size_t asked_ = 0;
  size_t answered_ = 0;
  size_t infos_ = 0;
  Encoder body_;
};

// Returns an encoded VALUE: a data array of `count` elements; `elements`
// contains their encodings.
std::string EncodeArray(pmix_data_type_t type, size_t count,
                        std::string_view elements);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_ANSWER_WRITER_H_
