// Data buffers: packing, unpacking, moving payloads, copying elements.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "client/abi/c_text.h"
#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/form.h"
#include "common/status.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace {

using canopy::CodecForm;
using canopy::Decoder;
using canopy::Encoder;
using canopy::FindType;
using canopy::TypeInfo;

constexpr size_t kFirstAllocation = 128;

// Returns the format of buffers in this process. Types are written, and can be
// checked, if the environment variable PMIX_BFROP_BUFFER_TYPE requires it, as
// with OpenPMIx. All processes that exchange buffers need the same setting.
const CodecForm& BufferForm() {
  static const CodecForm form = [] {
    CodecForm chosen;
    const char* type = getenv("PMIX_BFROP_BUFFER_TYPE");
    chosen.described =
        type != nullptr && strcmp(type, "PMIX_BFROP_BUFFER_FULLY_DESC") == 0;
    return chosen;
  }();
  return form;
}

std::string_view Unread(const pmix_data_buffer_t& buffer) {
  if (buffer.base_ptr == nullptr) return {};
  const char* from =
      buffer.unpack_ptr == nullptr ? buffer.base_ptr : buffer.unpack_ptr;
  const char* end = buffer.base_ptr + buffer.bytes_used;
  return {from, static_cast<size_t>(end - from)};
}

// Makes room for `more` bytes after the packed data.
bool Grow(pmix_data_buffer_t* buffer, size_t more) {
  if (more > SIZE_MAX / 2 - buffer->bytes_used) return false;
  const size_t needed = buffer->bytes_used + more;
  if (needed <= buffer->bytes_allocated) return true;
  size_t size =
      buffer->bytes_allocated == 0 ? kFirstAllocation : buffer->bytes_allocated;
  while (size < needed) size *= 2;
  const size_t read = buffer->base_ptr == nullptr || !buffer->unpack_ptr
                          ? 0
                          : buffer->unpack_ptr - buffer->base_ptr;
  char* grown = static_cast<char*>(realloc(buffer->base_ptr, size));
  if (grown == nullptr) return false;
  buffer->base_ptr = grown;
  buffer->pack_ptr = grown + buffer->bytes_used;
  buffer->unpack_ptr = grown + read;
  buffer->bytes_allocated = size;
  return true;
}

pmix_status_t Append(pmix_data_buffer_t* buffer, std::string_view bytes) {
  if (bytes.empty()) return PMIX_SUCCESS;
  if (!Grow(buffer, bytes.size())) return PMIX_ERR_OUT_OF_RESOURCE;
  memcpy(buffer->pack_ptr, bytes.data(), bytes.size());
  buffer->pack_ptr += bytes.size();
  buffer->bytes_used += bytes.size();
  return PMIX_SUCCESS;
}

void Clear(pmix_data_buffer_t* buffer) {
  free(buffer->base_ptr);
  *buffer = {};
}

// Callers pass a regex as characters only; the codec needs its size too.
std::vector<pmix_byte_object_t> SizedRegexes(char* const* regexes, int count) {
  std::vector<pmix_byte_object_t> sized(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    sized[i] = {regexes[i], canopy::RegexLength(regexes[i])};
  }
  return sized;
}

// Returns the distance of elements in the caller's array, in bytes.
size_t Stride(pmix_data_type_t id, const TypeInfo& type) {
  return id == PMIX_REGEX ? sizeof(char*) : type.size;
}

bool ReadElement(Decoder* decoder, pmix_data_type_t id, void* dest) {
  if (id != PMIX_REGEX) return decoder->GetElement(id, dest);
  pmix_byte_object_t regex = {};
  if (!decoder->GetElement(id, &regex)) return false;
  memcpy(dest, &regex.bytes, sizeof(regex.bytes));
  return true;
}

// Reads the elements that one call has packed, and skips those that do not fit
// into `dest`.
pmix_status_t ReadCall(Decoder* decoder, pmix_data_type_t id, char* dest,
                       int32_t* room) {
  const auto wanted = static_cast<size_t>(*room);
  *room = 0;
  size_t there = 0;
  if (!decoder->UnpackCount(id, &there)) return decoder->code();
  const TypeInfo* type = canopy::CarriedType(decoder->form(), id);
  if (type == nullptr || type->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  if (id == PMIX_POINTER) return PMIX_ERR_NOT_SUPPORTED;
  const size_t taken = there < wanted ? there : wanted;
  for (; static_cast<size_t>(*room) < taken; ++*room) {
    if (!ReadElement(decoder, id, dest + *room * Stride(id, *type))) {
      return decoder->code();
    }
  }
  if (!decoder->SkipElements(id, there - taken)) return decoder->code();
  return there > taken ? PMIX_ERR_UNPACK_INADEQUATE_SPACE : PMIX_SUCCESS;
}

}  // namespace

extern "C" {

void PMIx_Data_buffer_construct(pmix_data_buffer_t* b) {
  if (b != nullptr) *b = {};
}

void PMIx_Data_buffer_destruct(pmix_data_buffer_t* b) {
  if (b != nullptr) Clear(b);
}

pmix_data_buffer_t* PMIx_Data_buffer_create(void) {
  return static_cast<pmix_data_buffer_t*>(
      calloc(1, sizeof(pmix_data_buffer_t)));
}

void PMIx_Data_buffer_release(pmix_data_buffer_t* b) {
  PMIx_Data_buffer_destruct(b);
  free(b);
}

void PMIx_Data_buffer_load(pmix_data_buffer_t* b, char* bytes, size_t sz) {
  pmix_byte_object_t payload = {bytes, sz};
  (void)PMIx_Data_load(b, &payload);
}

void PMIx_Data_buffer_unload(pmix_data_buffer_t* b, char** bytes, size_t* sz) {
  pmix_byte_object_t payload = {};
  (void)PMIx_Data_unload(b, &payload);
  *bytes = payload.bytes;
  *sz = payload.size;
}

// Processes of all namespaces can read Canopy's format (those with OpenPMIx
// from release 4 on), so the target is not used.
pmix_status_t PMIx_Data_pack(const pmix_proc_t*, pmix_data_buffer_t* buffer,
                             void* src, int32_t num_vals,
                             pmix_data_type_t type) {
  if (buffer == nullptr || num_vals < 0 || (src == nullptr && num_vals > 0)) {
    return PMIX_ERR_BAD_PARAM;
  }
  Encoder encoder(BufferForm());
  if (type == PMIX_REGEX) {
    const auto sized = SizedRegexes(static_cast<char**>(src), num_vals);
    encoder.PackCall(type, num_vals, sized.data());
  } else {
    encoder.PackCall(type, num_vals, src);
  }
  if (!encoder.ok()) return encoder.status().code();
  return Append(buffer, encoder.Take());
}

pmix_status_t PMIx_Data_unpack(const pmix_proc_t*, pmix_data_buffer_t* buffer,
                               void* dest, int32_t* max_num_values,
                               pmix_data_type_t type) {
  if (buffer == nullptr || dest == nullptr || max_num_values == nullptr ||
      *max_num_values < 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  Decoder decoder(Unread(*buffer), BufferForm());
  const pmix_status_t code =
      ReadCall(&decoder, type, static_cast<char*>(dest), max_num_values);
  // After a type mismatch, the caller can still unpack the elements as their
  // own type.
  if (code == PMIX_ERR_TYPE_MISMATCH) return code;
  // After malformed data the rest of the buffer cannot be trusted.
  if (buffer->base_ptr != nullptr) {
    buffer->unpack_ptr =
        buffer->base_ptr + buffer->bytes_used - decoder.rest().size();
  }
  return code;
}

pmix_status_t PMIx_Data_load(pmix_data_buffer_t* buffer,
                             pmix_byte_object_t* payload) {
  if (buffer == nullptr) return PMIX_ERR_BAD_PARAM;
  Clear(buffer);
  if (payload == nullptr || payload->bytes == nullptr) return PMIX_SUCCESS;
  buffer->base_ptr = buffer->unpack_ptr = payload->bytes;
  buffer->bytes_used = buffer->bytes_allocated = payload->size;
  buffer->pack_ptr = buffer->base_ptr + payload->size;
  *payload = {};
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Data_unload(pmix_data_buffer_t* buffer,
                               pmix_byte_object_t* payload) {
  if (buffer == nullptr || payload == nullptr) return PMIX_ERR_BAD_PARAM;
  *payload = {};
  const std::string_view unread = Unread(*buffer);
  if (!unread.empty()) {
    if (unread.data() != buffer->base_ptr) {
      memmove(buffer->base_ptr, unread.data(), unread.size());
    }
    *payload = {buffer->base_ptr, unread.size()};
    buffer->base_ptr = nullptr;
  }
  Clear(buffer);
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Data_embed(pmix_data_buffer_t* buffer,
                              const pmix_byte_object_t* payload) {
  if (buffer == nullptr) return PMIX_ERR_BAD_PARAM;
  Clear(buffer);
  if (payload == nullptr || payload->bytes == nullptr) return PMIX_SUCCESS;
  return Append(buffer, {payload->bytes, payload->size});
}

pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t* dest,
                                     pmix_data_buffer_t* src) {
  if (dest == nullptr || src == nullptr || dest == src) {
    return PMIX_ERR_BAD_PARAM;
  }
  return Append(dest, Unread(*src));
}

pmix_status_t PMIx_Data_copy(void** dest, void* src, pmix_data_type_t id) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  *dest = nullptr;
  const TypeInfo* type = FindType(id);
  if (type == nullptr || type->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  if (id == PMIX_STRING || id == PMIX_REGEX) {
    const auto* text = static_cast<const char*>(src);
    *dest = canopy::client::CopyToC(
        {text, id == PMIX_REGEX ? canopy::RegexLength(text) : strlen(text)});
    return *dest == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
  }
  void* copy = canopy::AllocateZeroed(1, type->size);
  if (copy == nullptr) return PMIX_ERR_NOMEM;
  const int code = canopy::CopyElement(*type, copy, src);
  if (code != canopy::kSuccess) {
    free(copy);
    return code;
  }
  *dest = copy;
  return PMIX_SUCCESS;
}

}  // extern "C"
