-- Runs once, on an empty data folder: the sample source. Tables and rows are those of the Debezium
-- tutorial (debezium/container-images, MIT licence), which the inventory pipeline follows.
GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'debezium'@'%';

CREATE TABLE debezium.signal (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data TEXT);
CREATE TABLE debezium.heartbeat (id INT PRIMARY KEY, beat TIMESTAMP(6) NOT NULL);

CREATE DATABASE inventory;
USE inventory;

CREATE TABLE products (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  description VARCHAR(512),
  weight FLOAT
);
INSERT INTO products VALUES
  (101, 'scooter', 'Small 2-wheel scooter', 3.14),
  (102, 'car battery', '12V car battery', 8.1),
  (103, '12-pack drill bits', '12-pack of drill bits with sizes ranging from #40 to #3', 0.8),
  (104, 'hammer', '12oz carpenter''s hammer', 0.75),
  (105, 'hammer', '14oz carpenter''s hammer', 0.875),
  (106, 'hammer', '16oz carpenter''s hammer', 1.0),
  (107, 'rocks', 'box of assorted rocks', 5.3),
  (108, 'jacket', 'water resistent black wind breaker', 0.1),
  (109, 'spare tire', '24 inch spare tire', 22.2);

CREATE TABLE products_on_hand (
  product_id INT NOT NULL PRIMARY KEY,
  quantity INT NOT NULL,
  FOREIGN KEY (product_id) REFERENCES products (id)
);
INSERT INTO products_on_hand VALUES
  (101, 3), (102, 8), (103, 18), (104, 4), (105, 5), (106, 0), (107, 44), (108, 2), (109, 5);

CREATE TABLE customers (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  first_name VARCHAR(255) NOT NULL,
  last_name VARCHAR(255) NOT NULL,
  email VARCHAR(255) NOT NULL UNIQUE
);
INSERT INTO customers VALUES
  (1001, 'Sally', 'Thomas', 'sally.thomas@acme.com'),
  (1002, 'George', 'Bailey', 'gbailey@foobar.com'),
  (1003, 'Edward', 'Walker', 'ed@walker.com'),
  (1004, 'Anne', 'Kretchmar', 'annek@noanswer.org');

CREATE TABLE addresses (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT NOT NULL,
  street VARCHAR(255) NOT NULL,
  city VARCHAR(255) NOT NULL,
  state VARCHAR(255) NOT NULL,
  zip VARCHAR(255) NOT NULL,
  type ENUM('SHIPPING', 'BILLING', 'LIVING') NOT NULL,
  FOREIGN KEY (customer_id) REFERENCES customers (id)
);
INSERT INTO addresses VALUES
  (10, 1001, '3183 Moore Avenue', 'Euless', 'Texas', '76036', 'SHIPPING'),
  (11, 1001, '2389 Hidden Valley Road', 'Harrisburg', 'Pennsylvania', '17116', 'BILLING'),
  (12, 1002, '281 Riverside Drive', 'Augusta', 'Georgia', '30901', 'BILLING'),
  (13, 1003, '3787 Brownton Road', 'Columbus', 'Mississippi', '39701', 'SHIPPING'),
  (14, 1003, '2458 Lost Creek Road', 'Bethlehem', 'Pennsylvania', '18018', 'SHIPPING'),
  (15, 1003, '4800 Simpson Square', 'Hillsdale', 'Oklahoma', '73743', 'BILLING'),
  (16, 1004, '1289 University Hill Road', 'Canehill', 'Arkansas', '72717', 'LIVING');

CREATE TABLE orders (
  order_number INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  order_date DATE NOT NULL,
  purchaser INT NOT NULL,
  quantity INT NOT NULL,
  product_id INT NOT NULL,
  FOREIGN KEY (purchaser) REFERENCES customers (id),
  FOREIGN KEY (product_id) REFERENCES products (id)
);
INSERT INTO orders VALUES
  (10001, '2016-01-16', 1001, 1, 102),
  (10002, '2016-01-17', 1002, 2, 105),
  (10003, '2016-02-19', 1002, 2, 106),
  (10004, '2016-02-21', 1003, 1, 107);

CREATE TABLE geom (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  g GEOMETRY NOT NULL,
  h GEOMETRY
);
INSERT INTO geom VALUES
  (1, ST_GeomFromText('POINT(1 1)'), NULL),
  (2, ST_GeomFromText('LINESTRING(2 1, 6 6)'), NULL),
  (3, ST_GeomFromText('POLYGON((0 5, 2 5, 2 7, 0 7, 0 5))'), NULL);
