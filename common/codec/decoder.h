// Reads PMIx data from bytes that are not trusted.
//
// There are two levels, as in Encoder: Get... reads one bare element, and
// Unpack... reads a pack call. Every length and count is checked against the
// bytes left before anything is allocated. Nesting is limited, and so is the
// memory of the decoded data.
#ifndef CANOPY_COMMON_CODEC_DECODER_H_
#define CANOPY_COMMON_CODEC_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/codec/form.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"

namespace canopy {

// A key with its encoded value. Views point into the input.
struct KvalView {
  std::string_view key;
  // A VALUE, type first; see DecodeValue.
  std::string_view value;
  pmix_data_type_t type = PMIX_UNDEF;
};

// After a failure every read returns false, so callers may check once at their
// end. Failures: kErrUnpackReadPastEnd (the bytes end too early),
// kErrUnpackFailure (malformed), kErrUnknownDataType (a type that this library
// does not know or cannot build), kErrTypeMismatch (a described call of another
// type), kErrOutOfResource (memory limit), kErrNomem. The input must outlive
// the decoder and the views. Not synchronised.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes, CodecForm form = {})
      : in_(bytes), form_(form) {}
  // Rejects a temporary string, which would not outlive the statement.
  template <typename S>
  requires std::is_same_v<S, std::string>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  explicit Decoder(S&& bytes, CodecForm form = {}) = delete;

  const CodecForm& form() const { return form_; }
  bool ok() const { return code_ == kSuccess; }
  int code() const { return code_; }
  canopy::Status status() const;
  // Returns true if everything was read without a failure.
  bool done() const { return ok() && in_.empty(); }
  bool AtEnd() const { return in_.empty(); }
  std::string_view rest() const { return in_; }
  // Limits the bytes of C memory for decoded elements. The default is 1 GiB.
  void set_memory_limit(size_t bytes) { memory_left_ = bytes; }

  // Elements.
  bool GetBool(bool* v);
  bool GetByte(uint8_t* v);
  bool GetUint16(uint16_t* v);
  bool GetUint32(uint32_t* v);
  bool GetUint64(uint64_t* v);
  bool GetInt16(int16_t* v);
  bool GetInt32(int32_t* v);
  bool GetInt64(int64_t* v);
  bool GetSize(size_t* v);
  bool GetInt(int32_t* v);
  bool GetPid(pid_t* v);
  bool GetFloat(float* v);
  bool GetDouble(double* v);
  // Reads the text without its terminator, which must be present. A missing
  // string reads as empty; *is_null, if given, tells the two apart.
  bool GetString(std::string_view* v, bool* is_null = nullptr);
  bool GetBytes(std::string_view* v);
  bool GetProc(ProcId* v);
  // Read a value, an info or a key with its value. *v is overwritten without
  // being freed. It is empty after a failure.
  bool GetValue(pmix_value_t* v);
  bool GetValue(Value* v);
  bool GetInfo(pmix_info_t* v);
  bool GetKval(KvalView* v);
  // Reads an element of any type. `element` points to memory of the type's
  // size, whose content is ignored. It is all zeros after a failure.
  bool GetElement(pmix_data_type_t type, void* element);
  // Skip elements without building them.
  bool SkipValue();
  bool SkipElements(pmix_data_type_t type, size_t count);
  // Reads `size` bytes as they are.
  bool GetRaw(size_t size, std::string_view* v);

  // Pack calls. The plain readers require exactly one element. UnpackCount
  // reads the head of a call: the number of elements of `type` that follow.
  bool UnpackCount(pmix_data_type_t type, size_t* count);
  bool UnpackByte(pmix_data_type_t type, uint8_t* v);
  bool UnpackCommand(uint8_t* v) { return UnpackByte(PMIX_COMMAND, v); }
  bool UnpackSize(size_t* v);
  bool UnpackStatus(pmix_status_t* v);
  bool UnpackRank(Rank* v);
  bool UnpackString(std::string_view* v, bool* is_null = nullptr);
  // Reads a SIZE n and, unless n is 0, one call of n elements, and appends them
  // to *v.
  bool UnpackCountedInfos(InfoList* v);
  // Read one call of exactly n elements, or no call if n is 0, and append the
  // elements to *v.
  bool UnpackProcs(size_t n, std::vector<ProcId>* v);
  bool UnpackInfos(size_t n, InfoList* v);
  // Reads the content of a nested payload and stores its form in *form.
  bool UnpackBuffer(std::string_view* payload, CodecForm* form);
  bool UnpackKval(KvalView* v);
  // Reads a call of at most `room` elements into the array `elements`, whose
  // previous content is overwritten, and stores their number in *count. If
  // there are more elements, the read fails with kErrUnpackInadequateSpace and
  // stores nothing.
  bool UnpackElements(pmix_data_type_t type, size_t room, void* elements,
                      size_t* count);

  // Makes this and all later reads fail.
  bool Fail(int code);

 private:
  bool GetUnsigned(uint64_t* v, int width);
  bool GetVarint(uint64_t* v);
  bool GetFixed(uint64_t* v, int width);
  bool GetSigned(int64_t* v, int width);
  bool GetTag(pmix_data_type_t expected);
  bool GetCount(CountForm form, size_t* count);
  // Returns true if the rest of the input can hold `count` elements of that
  // type.
  bool CheckCount(pmix_data_type_t id, const TypeInfo& type, size_t count);
  bool Reserve(size_t count, size_t size);
  bool BeginOne(pmix_data_type_t type);
  const TypeInfo* Carried(pmix_data_type_t type);

  bool GetFields(const TypeInfo& type, void* element);
  bool GetField(const Field& field, void* element);
  bool GetNumber(const Field& field, void* element);
  bool GetOwned(const Field& field, void* element);
  bool GetCString(char** v);
  bool GetName(char* name, size_t capacity);
  bool GetStrings(CountForm form, char*** v);
  bool GetByteObject(pmix_byte_object_t* v);
  bool GetRegex(pmix_byte_object_t* v);
  bool StoreBytes(std::string_view bytes, pmix_byte_object_t* v);
  bool RegexView(std::string_view* v);
  bool GetDataBuffer(pmix_data_buffer_t* v);
  bool GetDataArray(pmix_data_array_t* v);
  bool GetList(const Field& field, void* element);
  bool GetElements(pmix_data_type_t id, size_t count, void** elements);
  bool GetArrayHead(pmix_data_type_t* type, size_t* count);
  bool GetCpuset(pmix_cpuset_t* v);
  bool SkipFields(const TypeInfo& type);
  bool SkipField(const Field& field);
  bool SkipTyped(pmix_data_type_t id, size_t count);

  std::string_view in_;
  CodecForm form_;
  int code_ = kSuccess;
  int depth_ = 0;
  size_t memory_left_ = size_t{1} << 30;
};

// Decodes exactly one VALUE, which begins with its type, into *value. *value is
// overwritten and is empty after a failure. Returns a PMIx status.
int DecodeValue(std::string_view encoded, pmix_value_t* value,
                CodecForm form = {});
Result<Value> DecodeValue(std::string_view encoded, CodecForm form = {});

// Returns the data type of an encoded VALUE. Returns no value if `encoded` does
// not begin with a type.
std::optional<pmix_data_type_t> EncodedType(std::string_view encoded,
                                            CodecForm form = {});

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_DECODER_H_
