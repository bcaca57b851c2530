#include "server/core/query/answer_writer.h"

#include "common/status.h"

namespace canopy::core {

void AnswerWriter::Add(std::string_view key, std::string_view encoded) {
  ++asked_;
  if (encoded.empty()) return;
  ++answered_;
  Put(key, encoded);
}

void AnswerWriter::Add(std::string_view key, const Value& value) {
  Add(key, value.empty() ? std::string() : EncodeValue(value.raw()));
}

void AnswerWriter::AddFurther(std::string_view key, const Value& value) {
  Put(key, EncodeValue(value.raw()));
}

void AnswerWriter::Put(std::string_view key, std::string_view encoded) {
  if (full()) return;
  ++infos_;
  body_.PutString(key);
  body_.PutUint32(0);
  body_.PutRaw(encoded);
}

int AnswerWriter::status() const {
  if (full()) return kErrOutOfResource;
  if (answered_ == 0) return kErrNotFound;
  return answered_ == asked_ ? kSuccess : kErrPartialSuccess;
}

Bytes AnswerWriter::Take() {
  if (answered_ == 0 || full()) return Bytes();
  Encoder out;
  out.PutSize(infos_);
  out.PutRaw(body_.Take());
  return Bytes(out.Take());
}

std::string EncodeArray(pmix_data_type_t type, size_t count,
                        std::string_view elements) {
  Encoder out;
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(type);
  out.PutSize(count);
  out.PutRaw(elements);
  return out.Take();
}

}  // namespace canopy::core
