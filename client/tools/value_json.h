// PMIx values and statuses as JSON.
#ifndef CANOPY_CLIENT_TOOLS_VALUE_JSON_H_
#define CANOPY_CLIENT_TOOLS_VALUE_JSON_H_

#include <string>

#include "client/cli/base/json.h"
#include "pmix_types.h"

namespace canopy::tools {

// Returns a value by its type: numbers, booleans, texts, arrays, and objects
// for infos (by the names of their keys), processes and statuses. A value of
// another type is its text.
cli::Json ValueJson(const pmix_value_t& value);

// Adds the members "status" and "status_name" to an object.
void AddStatus(pmix_status_t status, cli::Json* to);

// Prints the document on standard output. Returns the exit code for `status`.
// Prints no error text, because the document contains the status.
int PrintDocument(const cli::Json& document, pmix_status_t status);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_VALUE_JSON_H_
