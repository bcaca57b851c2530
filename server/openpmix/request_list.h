// The unanswered requests of one connection, in the order of the stream.
#ifndef CANOPY_SERVER_OPENPMIX_REQUEST_LIST_H_
#define CANOPY_SERVER_OPENPMIX_REQUEST_LIST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::openpmix {

// A client chooses the tags of its requests and may leave any number of them
// unanswered, so an answer must not cost a search over all of them. Not
// synchronised.
class RequestList {
 public:
  struct Request {
    uint32_t tag = 0;
    std::string_view payload;
  };

  void Add(const Request& request);
  // Adds requests in front of all others, in this order.
  void AddFirst(std::vector<Request> requests);
  // Removes and returns the oldest request with this tag; returns no value if
  // there is none.
  std::optional<Request> Take(uint32_t tag);

  std::vector<Request> InOrder() const;
  bool empty() const { return unanswered_ == 0; }
  size_t size() const { return unanswered_; }

 private:
  struct Entry {
    Request request;
    bool answered = false;
  };

  Request TakeAt(size_t index);
  void Index();

  std::vector<Entry> all_;
  size_t unanswered_ = 0;
  size_t first_ = 0;  // all entries before this one are answered
  // The entries before `indexed_` by their tags, some of which are answered.
  // Requests are mostly answered in their order, for which no index is needed.
  std::set<std::pair<uint32_t, size_t>> by_tag_;
  size_t indexed_ = 0;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_REQUEST_LIST_H_
