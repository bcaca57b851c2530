#include "server/pmi/pmi1_wire.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace canopy::pmi {
namespace {

struct Form {
  Operation operation;
  std::string_view command;
  const char* answer;
  const char* value;  // name of the value in the answer; null: none
};

constexpr Form kForms[] = {
    {Operation::kInit, "init", "response_to_init", nullptr},
    {Operation::kMaxes, "get_maxes", "maxes", nullptr},
    {Operation::kAppNumber, "get_appnum", "appnum", "appnum"},
    {Operation::kUniverseSize, "get_universe_size", "universe_size", "size"},
    {Operation::kJobName, "get_my_kvsname", "my_kvsname", "kvsname"},
    {Operation::kPut, "put", "put_result", nullptr},
    {Operation::kGet, "get", "get_result", "value"},
    {Operation::kFence, "barrier_in", "barrier_out", nullptr},
    {Operation::kFinalize, "finalize", "finalize_ack", nullptr},
    {Operation::kAbort, "abort", "abort_result", nullptr},
    {Operation::kPublish, "publish_name", "publish_result", nullptr},
    {Operation::kUnpublish, "unpublish_name", "unpublish_result", nullptr},
    {Operation::kLookup, "lookup_name", "lookup_result", "port"},
    {Operation::kSpawn, "spawn", "spawn_result", nullptr},
    // These commands are answered with an error.
    {Operation::kUnknown, "getbyidx", "getbyidx_results", nullptr},
    {Operation::kUnknown, "create_kvs", "newkvs", nullptr},
    {Operation::kUnknown, "destroy_kvs", "kvs_destroyed", nullptr},
};

const Form* FormOf(std::string_view command) {
  const auto* const form = std::ranges::find(kForms, command, &Form::command);
  return form == std::end(kForms) ? nullptr : form;
}

const Form* FormOf(Operation operation) {
  const auto* const form =
      std::ranges::find(kForms, operation, &Form::operation);
  return form == std::end(kForms) ? nullptr : form;
}

// The longest name of a command that an answer repeats.
constexpr size_t kMaxName = 64;

using Fields = std::map<std::string, std::string, std::less<>>;

Fields FieldsOf(std::string_view line) {
  Fields fields;
  while (!line.empty()) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) break;
    line.remove_prefix(begin);
    const size_t equals = line.find('=');
    if (equals == line.npos) break;
    const std::string key(line.substr(0, equals));
    line.remove_prefix(equals + 1);
    const size_t end =
        key == "value" ? line.size() : line.find_first_of(" \t\r");
    fields.insert_or_assign(key == "mcmd" ? "cmd" : key, line.substr(0, end));
    line.remove_prefix(std::min(end, line.size()));
  }
  return fields;
}

// Moves the value of a field out of `fields`. Returns an empty string if there
// is no such field.
std::string Take(Fields& fields, std::string_view name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string() : std::move(it->second);
}

bool IsName(Operation operation) {
  return operation == Operation::kPublish ||
         operation == Operation::kUnpublish || operation == Operation::kLookup;
}

std::string InitAnswer(const Reply& reply) {
  return reply.value == "2" ? "pmi_version=2 pmi_subversion=0"
                            : "pmi_version=1 pmi_subversion=1";
}

std::string MaxesAnswer() {
  return "kvsname_max=" + std::to_string(kKvsNameMax) +
         " keylen_max=" + std::to_string(kKeyMax) +
         " vallen_max=" + std::to_string(kValueMax);
}

std::string NotFound(const Request& request) {
  return "key_" + request.key.substr(0, kKeyMax) + "_not_found";
}

// Returns true if the reply has a value that fits into a line. A value that was
// put through another protocol may contain line ends.
bool HasValue(const Reply& reply) {
  return reply.value && reply.value->find('\n') == std::string::npos;
}

// Returns the fields that state success or failure. Clients read "rc"; for
// names and spawning, older clients read "info" instead.
std::string Verdict(const Request& request, const Reply& reply) {
  const bool lost = request.operation == Operation::kGet && reply.code == 0 &&
                    !HasValue(reply);
  if (reply.code == 0 && !lost) return " rc=0 msg=success";
  const std::string& reason = lost ? NotFound(request) : reply.problem;
  if (request.operation == Operation::kGet)
    return " rc=-1 msg=" + reason + " value=unknown";
  const bool has_info = request.operation == Operation::kUnknown ||
                        request.operation >= Operation::kPublish;
  return " rc=-1 msg=" + reason + (has_info ? " info=" + reason : "");
}

std::string ValueOf(const Form& form, const Reply& reply) {
  if (reply.code != 0 || !HasValue(reply) || form.value == nullptr) return "";
  return std::string(" ") + form.value + "=" + *reply.value;
}

std::string AnswerOf(const Form& form, const Request& request,
                     const Reply& reply) {
  const bool ok = reply.code == 0;
  switch (form.operation) {
    case Operation::kInit:
      return " " + InitAnswer(reply) + " rc=" + (ok ? "0" : "-1");
    case Operation::kMaxes:
      return " " + MaxesAnswer();
    case Operation::kAppNumber:
    case Operation::kUniverseSize:
    case Operation::kJobName:
      return " rc=0" + ValueOf(form, reply);
    case Operation::kFence:
    case Operation::kFinalize:
      return ok ? "" : Verdict(request, reply);
    default:
      break;
  }
  const bool has_info = ok && form.operation >= Operation::kPublish;
  return Verdict(request, reply) + (has_info ? " info=ok" : "") +
         ValueOf(form, reply);
}

}  // namespace

Request ParseLine(std::string_view line) {
  Fields fields = FieldsOf(line);
  Request request;
  request.name = Take(fields, "cmd");
  if (const Form* form = FormOf(request.name))
    request.operation = form->operation;
  const bool is_name = IsName(request.operation);
  request.job = Take(fields, "kvsname");
  request.key = Take(fields, is_name ? "service" : "key");
  request.value = Take(fields, is_name ? "port" : "value");
  if (request.operation == Operation::kInit)
    request.value = Take(fields, "pmi_version");
  request.exit_code = std::atoi(Take(fields, "exitcode").c_str());
  return request;
}

std::string AnswerLine(const Request& request, const Reply& reply) {
  const Form* const form = request.operation == Operation::kUnknown
                               ? FormOf(request.name)
                               : FormOf(request.operation);
  if (form != nullptr) {
    return std::string("cmd=") + form->answer +
           AnswerOf(*form, request, reply) + "\n";
  }
  return "cmd=" + request.name.substr(0, kMaxName) + "_result" +
         Verdict(request, reply) + "\n";
}

}  // namespace canopy::pmi
