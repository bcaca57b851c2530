#include "server/scheduler/infos.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;
using Infos = google::protobuf::RepeatedPtrField<v1::Info>;

// The limits for one list, and in total. They are needed because an info takes
// half a KiB in memory, but only a few bytes in a message.
constexpr int kMaxInfos = 512;
constexpr int kMaxInfosInAll = 4096;
constexpr int kMaxDepth = 8;
constexpr size_t kMaxKey = 511;

void PutEncoded(const pmix_value_t& value, v1::Value* out) {
  out->set_encoded(EncodeValue(value));
}

void PutValue(const pmix_value_t& value, v1::Value* out) {
  out->set_type(static_cast<v1::DataType>(value.type));
  switch (value.type) {
    case PMIX_BOOL:
      out->set_flag(value.data.flag);
      return;
    case PMIX_FLOAT:
    case PMIX_DOUBLE:
      out->set_real(DoubleOf(value).value_or(0));
      return;
    case PMIX_STRING:
      out->set_text(std::string(StringOf(value).value_or("")));
      return;
    case PMIX_BYTE_OBJECT:
      out->set_octets(std::string(BytesOf(value).value_or("")));
      return;
    default:
      break;
  }
  if (const auto proc = ProcOf(value); value.type == PMIX_PROC && proc) {
    out->mutable_process()->set_nspace(proc->nspace);
    out->mutable_process()->set_rank(proc->rank);
  } else if (const auto infos = InfosOf(value)) {
    PutInfos(*infos, out->mutable_infos()->mutable_infos());
  } else if (const auto number = Uint64Of(value)) {
    out->set_unsigned_integer(*number);
  } else if (const auto integer = Int64Of(value)) {
    out->set_integer(*integer);
  } else {
    PutEncoded(value, out);
  }
}

bool GetInfos(const Infos& infos, int depth, int* left, InfoList* out);

// Returns the number with the type that the message names, or `otherwise` if it
// names none. Returns an empty value if the number does not fit into the type.
Value Number(const v1::Value& value, pmix_data_type_t otherwise,
             uint64_t bits) {
  const auto type = static_cast<pmix_data_type_t>(value.type());
  Value out = Value::Integer(type == PMIX_UNDEF ? otherwise : type, bits);
  const bool fits =
      value.has_integer()
          ? Int64Of(out.raw()) == std::optional<int64_t>(value.integer())
          : Uint64Of(out.raw()) == std::optional<uint64_t>(bits);
  return fits ? std::move(out) : Value();
}

bool GetValue(const v1::Value& value, int depth, int* left, Value* out) {
  switch (value.kind_case()) {
    case v1::Value::kFlag:
      *out = Value::Bool(value.flag());
      return true;
    case v1::Value::kInteger:
      *out = Number(value, PMIX_INT64, static_cast<uint64_t>(value.integer()));
      return !out->empty();
    case v1::Value::kUnsignedInteger:
      *out = Number(value, PMIX_UINT64, value.unsigned_integer());
      return !out->empty();
    case v1::Value::kReal:
      *out = value.type() == v1::DATA_TYPE_FLOAT
                 ? Value::Float(static_cast<float>(value.real()))
                 : Value::Double(value.real());
      return true;
    case v1::Value::kText:
      *out = Value::String(value.text());
      return value.text().find('\0') == std::string::npos;
    case v1::Value::kOctets:
      *out = Value::ByteObject(value.octets());
      return true;
    case v1::Value::kProcess:
      *out = Value::Proc({value.process().nspace(), value.process().rank()});
      return value.process().nspace().size() <= PMIX_MAX_NSLEN;
    case v1::Value::kInfos: {
      InfoList infos;
      if (!GetInfos(value.infos().infos(), depth + 1, left, &infos)) {
        return false;
      }
      *out = Value::InfoArray(infos);
      return true;
    }
    case v1::Value::kEncoded: {
      Result<Value> decoded = DecodeValue(value.encoded());
      if (!decoded.ok()) return false;
      *out = *std::move(decoded);
      return true;
    }
    case v1::Value::KIND_NOT_SET:
      return true;
  }
  return false;
}

bool GetInfos(const Infos& infos, int depth, int* left, InfoList* out) {
  if (depth > kMaxDepth || infos.size() > std::min(kMaxInfos, *left)) {
    return false;
  }
  *left -= infos.size();
  for (const v1::Info& info : infos) {
    Value value;
    if (info.key().empty() || info.key().size() > kMaxKey ||
        !GetValue(info.value(), depth, left, &value)) {
      return false;
    }
    pmix_info_directives_t flags = info.flags() & ~PMIX_INFO_ARRAY_END;
    if (info.required()) flags |= PMIX_INFO_REQD;
    out->Add(info.key(), std::move(value), flags);
  }
  return true;
}

}  // namespace

void PutInfo(const pmix_info_t& info, v1::Info* out) {
  out->set_key(std::string(KeyOf(info)));
  out->set_required((info.flags & PMIX_INFO_REQD) != 0);
  out->set_flags(info.flags & ~PMIX_INFO_ARRAY_END);
  PutValue(info.value, out->mutable_value());
}

void PutInfos(std::span<const pmix_info_t> infos, Infos* out) {
  for (const pmix_info_t& info : infos) PutInfo(info, out->Add());
}

Result<InfoList> GetInfos(const Infos& infos) {
  InfoList out;
  int left = kMaxInfosInAll;
  if (!GetInfos(infos, 0, &left, &out)) {
    return Status(kErrUnpackFailure, "its infos are malformed");
  }
  return out;
}

}  // namespace canopy::scheduler
