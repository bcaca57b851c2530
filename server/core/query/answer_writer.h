// The answers to a call of PMIx_Query_info as bytes: infos, one for each key.
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

// Bytes of one answer. One that has no room is refused as a whole.
inline constexpr size_t kMaxAnswer = size_t{16} << 20;

// Keys that were asked for, and those that have an answer.
class AnswerWriter {
 public:
  // The next key. Without value, or with the empty one, it has no answer.
  void Add(std::string_view key, std::string_view encoded);
  void Add(std::string_view key, const Value& value);
  // One that is not there.
  void AddNothing() { ++asked_; }
  // Another answer to the last key.
  void AddFurther(std::string_view key, const Value& value);

  bool full() const { return body_.size() > kMaxAnswer; }
  // A PMIx status: kSuccess when all have an answer, kErrPartialSuccess when
  // some have, kErrNotFound when none has, kErrOutOfResource when there is no
  // room for all.
  int status() const;
  // Codec form: SIZE n, n INFO. Empty unless it is (partly) a success.
  Bytes Take();

 private:
  void Put(std::string_view key, std::string_view encoded);

  size_t asked_ = 0;
  size_t answered_ = 0;
  size_t infos_ = 0;
  Encoder body_;
};

// A VALUE: a data array of elements that are encoded already.
std::string EncodeArray(pmix_data_type_t type, size_t count,
                        std::string_view elements);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_ANSWER_WRITER_H_
