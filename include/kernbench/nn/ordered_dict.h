// A dictionary that keeps the order in which its keys came, as torch::OrderedDict.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernbench/error.h"

namespace kernbench::torch {

/// Keys are unique; the order is that of insertion. An error calls a key by `key_description` ("Parameter 'w' is not
/// defined"). Access by key and by position takes constant time, erase as long as there are keys behind.
template <class Key, class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    Value& operator*() { return pair_.second; }
    const Value& operator*() const { return pair_.second; }
    Value* operator->() { return &pair_.second; }
    const Value* operator->() const { return &pair_.second; }
    const Key& key() const { return pair_.first; }
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  explicit OrderedDict(std::string key_description = "Key") : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict("Key") {  // NOLINT(google-explicit-constructor)
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const { return key_description_; }
  std::size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  void reserve(std::size_t capacity) { items_.reserve(capacity), positions_.reserve(capacity); }

  Iterator begin() { return items_.begin(); }
  ConstIterator begin() const { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator end() const { return items_.end(); }
  /// By position: ValueError outside.
  Item& front() { return items_[checked(0)]; }
  const Item& front() const { return items_[checked(0)]; }
  Item& back() { return items_[checked(size() - 1)]; }
  const Item& back() const { return items_[checked(size() - 1)]; }
  Item& operator[](std::size_t index) { return items_[checked(index)]; }
  const Item& operator[](std::size_t index) const { return items_[checked(index)]; }

  /// ValueError for a key that is not there.
  Value& operator[](const Key& key) { return items_[position(key)].value(); }
  const Value& operator[](const Key& key) const { return items_[position(key)].value(); }
  /// Null for a key that is not there.
  Value* find(const Key& key) {
    const auto found = positions_.find(key);
    return found == positions_.end() ? nullptr : &items_[found->second].value();
  }
  const Value* find(const Key& key) const {
    const auto found = positions_.find(key);
    return found == positions_.end() ? nullptr : &items_[found->second].value();
  }
  bool contains(const Key& key) const { return positions_.contains(key); }

  /// ValueError for a key that is there.
  Value& insert(Key key, Value value) {
    if (!positions_.try_emplace(key, items_.size()).second) fail(key, "' already defined");
    return items_.emplace_back(std::move(key), std::move(value)).value();
  }
  /// All of `other`: ValueError for a key that both have.
  void update(const OrderedDict& other) {
    reserve(size() + other.size());
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void update(OrderedDict&& other) {
    reserve(size() + other.size());
    for (Item& item : other) insert(item.key(), std::move(item.value()));
  }
  /// ValueError for a key that is not there.
  void erase(const Key& key) {
    const std::size_t at = position(key);
    positions_.erase(key);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = at; i < items_.size(); ++i) positions_[items_[i].key()] = i;
  }
  void clear() { items_.clear(), positions_.clear(); }

  const std::vector<Item>& items() const { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> all;
    for (const Item& item : items_) all.push_back(item.key());
    return all;
  }
  std::vector<Value> values() const {
    std::vector<Value> all;
    for (const Item& item : items_) all.push_back(item.value());
    return all;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> all;
    for (const Item& item : items_) all.push_back(item.pair());
    return all;
  }

 private:
  [[noreturn]] void fail(const Key& key, const char* what) const {
    std::string text = key_description_ + " '";
    if constexpr (std::is_convertible_v<const Key&, std::string>)
      text += key;
    else
      text += std::to_string(key);
    throw ValueError(text + what);
  }
  std::size_t position(const Key& key) const {
    const auto found = positions_.find(key);
    if (found == positions_.end()) fail(key, "' is not defined");
    return found->second;
  }
  std::size_t checked(std::size_t index) const {
    if (index >= items_.size()) throw ValueError("Index " + std::to_string(index) + " is out of bounds");
    return index;
  }

  std::string key_description_;
  std::vector<Item> items_;
  std::unordered_map<Key, std::size_t> positions_;
};

}  // namespace kernbench::torch
