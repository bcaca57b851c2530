// Writes PMIx data as bytes.
//
// There are two levels. Put... appends one bare element. Pack... appends a pack
// call, as OpenPMIx names it: a count, then the elements; the described form
// adds their types. Payloads exchanged with peers consist of pack calls. Bare
// elements occur in Canopy's own frames and inside other elements.
#ifndef CANOPY_COMMON_CODEC_ENCODER_H_
#define CANOPY_COMMON_CODEC_ENCODER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/codec/form.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"

namespace canopy {

// After the first failure all calls are ignored, and Take returns an empty
// string. Failures: a type that the form cannot carry (kErrUnknownDataType),
// nesting deeper than kMaxNesting (kErrPackFailure), an element whose content
// is missing or belongs to another library (kErrBadParam). Not synchronised.
class Encoder {
 public:
  explicit Encoder(CodecForm form = {}) : form_(form) {}

  const CodecForm& form() const { return form_; }
  bool ok() const { return code_ == kSuccess; }
  canopy::Status status() const;
  size_t size() const { return out_.size(); }
  void Reserve(size_t bytes) { out_.reserve(bytes); }
  // Returns the bytes written so far and resets the encoder.
  std::string Take();

  // Append one element.
  void PutBool(bool v) { PutByte(v ? 1 : 0); }
  void PutByte(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void PutUint16(uint16_t v) { PutUnsigned(v, 2); }
  void PutUint32(uint32_t v) { PutUnsigned(v, 4); }
  void PutUint64(uint64_t v) { PutUnsigned(v, 8); }
  void PutInt16(int16_t v) { PutSigned(v, 2); }
  void PutInt32(int32_t v) { PutSigned(v, 4); }
  void PutInt64(int64_t v) { PutSigned(v, 8); }
  void PutSize(size_t v);
  void PutInt(int32_t v);
  void PutPid(pid_t v);
  void PutFloat(float v);
  void PutDouble(double v);
  // The text ends at its first NUL, if it has one.
  void PutString(std::string_view v);
  void PutNullString() { PutInt32(0); }
  void PutCString(const char* v);
  // Appends a BYTE_OBJECT: SIZE and bytes.
  void PutBytes(std::string_view v);
  void PutProc(const pmix_proc_t& v);
  void PutProc(const ProcId& v);
  void PutValue(const pmix_value_t& v);
  void PutInfo(const pmix_info_t& v);
  void PutKval(std::string_view key, const pmix_value_t& v);
  // `encoded` is a VALUE in this form, which begins with its type.
  void PutKvalEncoded(std::string_view key, std::string_view encoded);
  void PutElement(pmix_data_type_t type, const void* element);
  // Appends bytes that are already in this form.
  void PutRaw(std::string_view bytes) { out_.append(bytes); }

  // Pack calls.
  void PackCall(pmix_data_type_t type, int32_t count, const void* elements);
  void PackByte(pmix_data_type_t type, uint8_t v);
  void PackCommand(uint8_t v) { PackByte(PMIX_COMMAND, v); }
  void PackSize(size_t v);
  void PackStatus(pmix_status_t v);
  void PackRank(Rank v);
  void PackString(std::string_view v);
  void PackProc(const ProcId& v);
  // Append one call with all processes or infos, or no call if there are none.
  void PackProcs(std::span<const ProcId> v);
  void PackInfos(std::span<const pmix_info_t> v);
  void PackByteObject(std::string_view v);
  void PackKval(std::string_view key, const pmix_value_t& v);
  void PackKvalEncoded(std::string_view key, std::string_view encoded);

 private:
  void PutVarint(uint64_t v);
  void PutFixed(uint64_t v, int width);
  void PutUnsigned(uint64_t v, int width) {
    if (form_.integers == IntegerForm::kVarint) {
      PutVarint(v);
    } else {
      PutFixed(v, width);
    }
  }
  void PutSigned(int64_t v, int width);
  void PutType(pmix_data_type_t type) { PutUint16(type); }
  void PutCount(CountForm form, size_t count);
  void BeginCall(pmix_data_type_t type, int32_t count);
  void PutElements(pmix_data_type_t type, const void* elements, size_t count);
  void PutFields(const TypeInfo& type, const void* element);
  void PutField(const Field& field, const void* element);
  void PutStrings(CountForm form, char* const* strings);
  void PutDataArray(const pmix_data_array_t& array);
  void PutRegex(const pmix_byte_object_t& regex);
  void PutCpuset(const pmix_cpuset_t& cpuset);
  void Fail(int code) {
    if (code_ == kSuccess) code_ = code;
  }

  CodecForm form_;
  std::string out_;
  int code_ = kSuccess;
  int depth_ = 0;
};

// Returns one VALUE, which begins with its type, or an empty string if the form
// cannot carry it.
std::string EncodeValue(const pmix_value_t& value, CodecForm form = {});

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_ENCODER_H_
